#!/usr/bin/env bash
# Holds a running server against its own OpenAPI document, with requests nobody thought of.
#
#   ops/interop/schemathesis.sh BINARY [more arguments of `schemathesis run`]
#
# What must stay true: the examples are bounded and come from a fixed seed, so that a failure can be seen
# again; tokens stand in no command line. Every check of schemathesis is made but those switched off
# below, each with its reason. Ends with the exit status of schemathesis: 0 when every answer is documented
# and none is a 5xx.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=$(realpath "$1")
shift

VERSION=4.32.5
SEED=${HELIX_FUZZ_SEED:-20261201}
EXAMPLES=${HELIX_FUZZ_EXAMPLES:-40}
tools=$(realpath -m "${CARGO_TARGET_DIR:-$here/../../target}")/interop/schemathesis-$VERSION
if [[ ! -x $tools/bin/schemathesis ]]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$VERSION"
fi

export HELIX_WORKER_IP_RATE_LIMIT=0 HELIX_WORKER_TOKEN_RATE_LIMIT=0
# shellcheck source=ops/interop/server.sh
. "$here/server.sh" "$binary"
HELIX_WORKER_TOKEN=$("$binary" worker token create --name schemathesis --json | grep -o 'hx_wk_[A-Za-z0-9_-]*' | head -n 1)
export HELIX_WORKER_TOKEN

cat >"$place/schemathesis.toml" <<'TOML'
# NUL is refused in any text by the reader of JSON, which a schema of every text would have to say.
[generation]
allow-x00 = false

[headers]
Authorization = "Bearer ${HELIX_TOKEN}"

# A poll would wait as long as it is told to.
[parameters]
wait_ms = 0

# What no schema can say: a cursor is one that this server gave, a question is answered once, a span that is
# named is there, a number in free JSON survives a double, the stateless version of MCP asks for headers that
# the others do not know.
[[operations]]
include-operation-id = ["listRuns", "continueRun", "callTool", "completeTurn", "mcp"]
checks.positive_data_acceptance.enabled = false

[[operations]]
include-operation-id = ["beat", "callTool", "completeTurn"]
headers = { Authorization = "Bearer ${HELIX_WORKER_TOKEN}" }
TOML

# It leaves files where it runs. A claim waits as long as it is told to, and there is no turn for a worker.
cd "$place"
"$tools/bin/schemathesis" --config-file "$place/schemathesis.toml" run "$HELIX_URL/openapi.json" \
  --exclude-operation-id claimTurn \
  --max-examples "$EXAMPLES" --seed "$SEED" --workers 2 --request-timeout 30 \
  --suppress-health-check all --generation-database none --no-color "$@"
