#!/usr/bin/env bash
# Holds a running server against its own OpenAPI document, with requests nobody thought of.
#
#   ops/interop/schemathesis.sh target/release/helix [more arguments of `schemathesis run`]
#
# What must stay true: the server is a real one with its own Postgres and a throw-away data directory; the
# examples are bounded and come from a fixed seed, so that a failure can be seen again; the token stands in
# no command line. Every check of schemathesis is made but those switched off below, each with its reason.
# Ends with the exit status of schemathesis: 0 when every answer is documented and none is a 5xx.
set -euo pipefail

SCHEMATHESIS=4.32.5
SEED=${HELIX_FUZZ_SEED:-20261201}
EXAMPLES=${HELIX_FUZZ_EXAMPLES:-40}

binary=$(realpath "${1:?the binary to test}")
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tools=$(realpath -m "${CARGO_TARGET_DIR:-target}")/tools/schemathesis-$SCHEMATHESIS
place=$(mktemp -d)
server=

finish() {
  local code=$?
  if [[ -n $server ]]; then
    kill -TERM "$server" 2>/dev/null || true
    wait "$server" || true
  fi
  if [[ $code != 0 && -s $place/serve.err ]]; then
    printf -- '-- the end of what the server said\n'
    tail -n 20 "$place/serve.err"
  fi
  rm -rf "$place"
  exit "$code"
}
trap finish EXIT

if [[ ! -x $tools/bin/schemathesis ]]; then
  printf -- '-- installing schemathesis %s, once a target directory\n' "$SCHEMATHESIS"
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$SCHEMATHESIS"
fi

# The demo makes an account, links it and leaves its token; it is stopped before the server takes over.
"$binary" demo --check --data-dir "$place/data" --listen 127.0.0.1:0 --metrics-listen off >/dev/null
HELIX_TOKEN=$(cat "$place/data/token")
HELIX_AGENT_LOCAL_JWT_SECRET=$(cat "$place/data/token-secret")
export HELIX_TOKEN HELIX_AGENT_LOCAL_JWT_SECRET
# The names that the demo's token is for. Limits are off: 429 would hide every other answer.
export HELIX_AGENT_ALLOW_LOCAL_HS256=on \
  HELIX_AGENT_OAUTH_ISSUER=https://demo.helix.invalid/ \
  HELIX_AGENT_OAUTH_AUDIENCE=https://demo.helix.invalid/agent-runs \
  HELIX_AGENT_OAUTH_PROVIDER=helix-demo \
  HELIX_AGENT_IP_RATE_LIMIT=0 HELIX_AGENT_PRINCIPAL_RATE_LIMIT=0 \
  HELIX_MCP_IP_RATE_LIMIT=0 HELIX_MCP_PRINCIPAL_RATE_LIMIT=0 \
  HELIX_LOG_LEVEL=warn
"$binary" serve --json --data-dir "$place/data" --library "$place/data/library" \
  --listen 127.0.0.1:0 --metrics-listen off >"$place/serve.out" 2>"$place/serve.err" &
server=$!
url=
for _ in $(seq 300); do
  url=$(sed -n 's/.*"url": *"\([^"]*\)".*/\1/p' "$place/serve.out")
  [[ -n $url ]] && break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.2
done
[[ -n $url ]] || { printf 'the server did not start\n'; exit 1; }

cat >"$place/schemathesis.toml" <<'TOML'
# NUL is refused in any text by the reader of JSON, which a schema of every text would have to say.
[generation]
allow-x00 = false

[headers]
Authorization = "Bearer ${HELIX_TOKEN}"

# A poll would wait as long as it is told to.
[parameters]
wait_ms = 0

# What no schema can say: a cursor is one that this server gave, a question is answered once, the stateless
# version of MCP asks for headers that the others do not know.
[[operations]]
include-operation-id = ["listRuns", "continueRun", "mcp"]
checks.positive_data_acceptance.enabled = false
TOML

# It leaves files where it runs.
cd "$place"
"$tools/bin/schemathesis" --config-file "$place/schemathesis.toml" run "$url/openapi.json" \
  --checks all --max-examples "$EXAMPLES" --seed "$SEED" --workers 2 --request-timeout 30 \
  --suppress-health-check all --generation-database none --no-color "$@"
