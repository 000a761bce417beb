#!/usr/bin/env bash
# Other people's clients and suites against a real server.
#
#   ops/interop/run.sh BINARY [PART…]     parts: probe typescript python inspector conformance
#                                                authorization oauth authlib remote
#
# The last four connect to a server that is its own issuer, from registration to a refresh; the others
# bring a token.
#
# What must stay true: versions are pinned; nothing is installed outside the target directory; a part
# that fails ends the run. Node comes as a package of its own, because some suites ask for a newer one
# than a distribution has.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=$(realpath "$1")
shift
parts=("$@")
[[ ${#parts[@]} -gt 0 ]] || parts=(probe typescript python inspector conformance authorization oauth authlib remote)

INTEROP_HOME=${INTEROP_HOME:-$(realpath "${CARGO_TARGET_DIR:-$here/../../target}")/interop}
export INTEROP_HOME
mkdir -p "$INTEROP_HOME"

install_node_packages() {
  cp "$here"/.npmrc "$here"/*.mjs "$here"/*.json "$INTEROP_HOME/"
  # `--force`: the engine that packages ask for is itself one of the packages. Not `npm ci`, which
  # wants every platform's optional packages in the lock file.
  (cd "$INTEROP_HOME" && npm install --force --no-progress --loglevel error)
  # Packages may not run scripts of their own accord on every npm; this one only unpacks a binary.
  [[ -x $INTEROP_HOME/node_modules/.bin/node ]] || (cd "$INTEROP_HOME" && npm rebuild node --foreground-scripts)
}

install_python_packages() {
  [[ -x $INTEROP_HOME/venv/bin/python ]] || python3 -m venv "$INTEROP_HOME/venv"
  "$INTEROP_HOME/venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
}

node() { "$INTEROP_HOME/node_modules/.bin/node" "$@"; }

part_probe() { "$binary" conformance --url "$HELIX_URL" --allow-loopback-http; }

part_typescript() { (cd "$INTEROP_HOME" && node clients.mjs); }

part_python() {
  install_python_packages
  "$INTEROP_HOME/venv/bin/python" "$here/client.py"
}

# `--strict` ends with 6 when a published schema is not portable.
part_inspector() {
  local era inspector=$INTEROP_HOME/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js
  for era in legacy modern; do
    node "$inspector" --cli "$HELIX_URL/mcp" --transport http --protocol-era "$era" \
      --header "Authorization: Bearer $HELIX_TOKEN" --method tools/list --strict --format json >"$place/tools.json"
    grep -q helix_run_start "$place/tools.json"
    echo "Inspector, $era: the tools are listed, their schemas portable"
  done
}

part_conformance() {
  local proxy url
  coproc PROXY { exec "$INTEROP_HOME/node_modules/.bin/node" "$INTEROP_HOME/with-token.mjs"; }
  proxy=$PROXY_PID
  read -r url <&"${PROXY[0]}"
  local code=0
  node "$INTEROP_HOME/conformance.mjs" "$url" || code=$?
  kill "$proxy" 2>/dev/null || true
  return "$code"
}

part_authorization() { (cd "$INTEROP_HOME" && node authorization.mjs); }

# openid-client, oauth4webapi and the official TypeScript client.
part_oauth() { (cd "$INTEROP_HOME" && node oauth.mjs); }

part_authlib() {
  install_python_packages
  "$INTEROP_HOME/venv/bin/python" "$here/oauth.py"
}

part_remote() { (cd "$INTEROP_HOME" && node remote.mjs); }

# The parts that want such a server, each kind in a shell of its own.
with_server() {
  local kind=$1 part chosen=()
  shift
  for part in "${parts[@]}"; do
    if [[ " $* " == *" $part "* ]]; then chosen+=("$part"); fi
  done
  [[ ${#chosen[@]} -gt 0 ]] || return 0
  (
    # shellcheck source=ops/interop/server.sh
    . "$here/server.sh" "$binary" "$kind"
    for part in "${chosen[@]}"; do "part_$part"; done
  )
}

install_node_packages
with_server outside probe typescript python inspector conformance
with_server built-in authorization oauth authlib remote
