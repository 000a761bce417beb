#!/usr/bin/env bash
# The pages in a real Chromium, as people meet them.
#
#   ops/browser/run.sh BINARY [WAY]     SHOTS=DIRECTORY keeps a picture of every page
#
# What must stay true: every journey is gone with and without JavaScript, in light and dark, on a phone
# and on a desk, by mouse and by keyboard; nothing is installed outside the system's packages and the
# target directory. Deliberately absent: a downloaded browser, a retry.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=$(realpath "$1")
[[ -z ${SHOTS:-} ]] || { mkdir -p "$SHOTS" && SHOTS=$(realpath "$SHOTS") && export SHOTS; }

missing=()
[[ -x /usr/bin/chromium ]] || missing+=(chromium)
command -v npm >/dev/null || missing+=(nodejs npm)
if [[ ${#missing[@]} -gt 0 ]]; then
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    echo "not root, or no apt-get; type: sudo apt-get install ${missing[*]}" >&2
    exit 1
  fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

home=$(realpath "${CARGO_TARGET_DIR:-$here/../../target}")/browser
mkdir -p "$home"
cp "$here"/.npmrc "$here"/*.mjs "$here"/*.json "$home/"
cd "$home"
npm ci --no-progress --loglevel error
exec node main.mjs "$binary" "${@:2}"
