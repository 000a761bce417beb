# Sourced: a throw-away server with an account.
#
#   . server.sh BINARY            tokens of an outside issuer: sets HELIX_URL, HELIX_TOKEN, HELIX_WEAK_TOKEN
#   . server.sh BINARY built-in   its own issuer: sets HELIX_URL, PERSON_EMAIL, PERSON_PASSPHRASE
#
# What must stay true: nothing of it outlives the shell; secrets are in the environment and in no
# argument. HELIX_TOKEN has every scope; HELIX_WEAK_TOKEN may read and nothing else.

place=$(mktemp -d)
server=
server_ends() {
  if [[ -n $server ]]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  rm -rf "$place"
}
trap server_ends EXIT

issuer=${2:-outside}
if [[ $issuer == outside ]]; then
  export HELIX_AGENT_ALLOW_LOCAL_HS256=on
  HELIX_AGENT_LOCAL_JWT_SECRET=$(head -c 32 /dev/urandom | base64)
  export HELIX_AGENT_LOCAL_JWT_SECRET
  export HELIX_AGENT_OAUTH_ISSUER=https://issuer.example
  export HELIX_AGENT_OAUTH_PROVIDER=local
fi
export PERSON_EMAIL=ada@example.org PERSON_PASSPHRASE='correct horse battery'
export HELIX_DATA_DIR=$place/data HELIX_METRICS_LISTEN=off
# Suites ask more than a person does.
export HELIX_AGENT_IP_RATE_LIMIT=0 HELIX_AGENT_PRINCIPAL_RATE_LIMIT=0
export HELIX_MCP_IP_RATE_LIMIT=0 HELIX_MCP_PRINCIPAL_RATE_LIMIT=0

free_port() { perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(LocalAddr=>"127.0.0.1",Listen=>1)->sockport'; }

sign() {
  perl -MMIME::Base64=encode_base64url -MDigest::SHA=hmac_sha256 -e '
    my $claims = sprintf q({"iss":"%s","aud":"%s","sub":"ada","tenant_id":"home","scope":"%s","iat":%d,"exp":%d}),
      $ENV{HELIX_AGENT_OAUTH_ISSUER}, $ENV{HELIX_AGENT_OAUTH_AUDIENCE}, $ARGV[0], time, time + 7200;
    my $signed = encode_base64url(q({"alg":"HS256","typ":"JWT"})) . "." . encode_base64url($claims);
    print "$signed." . encode_base64url(hmac_sha256($signed, $ENV{HELIX_AGENT_LOCAL_JWT_SECRET}));' "$1"
}

start_server() {
  local binary=$1 port account
  port=$(free_port)
  export HELIX_LISTEN=127.0.0.1:$port HELIX_URL=http://127.0.0.1:$port
  [[ $issuer == built-in ]] || export HELIX_AGENT_OAUTH_AUDIENCE=$HELIX_URL/mcp
  mkdir -p "$HELIX_DATA_DIR/library"
  echo 'The last ferry to Skarholm leaves at 22:40 on weekdays.' >"$HELIX_DATA_DIR/library/ferry.md"
  "$binary" serve >"$place/serve.log" 2>&1 &
  server=$!
  if ! curl --silent --retry 60 --retry-delay 1 --retry-all-errors --fail --output /dev/null "$HELIX_URL/readyz"; then
    cat "$place/serve.log"
    return 1
  fi
  account=$(echo "$PERSON_PASSPHRASE" | "$binary" account create --email "$PERSON_EMAIL" --name Ada \
    --passphrase-stdin --json | grep -o 'acct_[0-9a-f-]*' | head -n 1)
  [[ $issuer == outside ]] || return 0
  "$binary" account link --account "$account" --issuer "$HELIX_AGENT_OAUTH_ISSUER" \
    --tenant home --provider local --subject ada >/dev/null
  HELIX_TOKEN=$(sign "helix.agent_runs.read helix.agent_runs.write helix.data.research_library.read")
  HELIX_WEAK_TOKEN=$(sign "helix.agent_runs.read")
  export HELIX_TOKEN HELIX_WEAK_TOKEN
}

start_server "$1"
