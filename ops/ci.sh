#!/usr/bin/env bash
# Everything a change must pass, the same on a developer's machine and on a bare one.
#
#   ops/ci.sh              every step, in order
#   ops/ci.sh lint tests   the named steps alone
#
# What must stay true: `cargo test` runs exactly as the README shows it; a step that cannot run says so
# and why; whatever a step needs is installed here. Deliberately absent: any step that needs a service
# which this script does not start, and any retry, which would hide a test that fails now and then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

STEPS=(install format lint docs edges deny build tests apt release demo worker interop browser bench)
CARGO_DENY=0.20.2
TARGET=${CARGO_TARGET_DIR:-target}
PLAIN_USER=helix-ci

# A clone that is built once gains nothing from incremental files; they cost time and disk.
if [[ ${CI:-} == true ]]; then export CARGO_INCREMENTAL=0; fi
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}

summary=()

note() { printf -- '-- %s\n' "$*"; }

# Runs one step, announced and timed; the first failure ends everything.
run() {
  local name=$1 started=$SECONDS code=0
  printf '\n== %s\n' "$name"
  # A subshell of its own, because `set -e` is off inside anything that `||` or `if` judges.
  set +e
  (set -e; "step_$name")
  code=$?
  set -e
  summary+=("$(printf '%-8s %5d s  %s' "$name" $((SECONDS - started)) "$([[ $code == 0 ]] && echo ok || echo "FAILED ($code)")")")
  if [[ $code != 0 ]]; then
    report
    exit "$code"
  fi
}

report() {
  printf '\n== summary, %d s in all\n' "$SECONDS"
  printf '%s\n' "${summary[@]}"
}

# ---- what the steps need -------------------------------------------------------------------------

step_install() {
  local packages=()
  compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v postgres >/dev/null || packages+=(postgresql)
  command -v git >/dev/null || packages+=(git)
  command -v cc >/dev/null || packages+=(gcc libc6-dev)
  command -v curl >/dev/null || packages+=(curl)
  command -v perl >/dev/null || packages+=(perl)
  command -v npm >/dev/null || packages+=(nodejs npm)
  python3 -c 'import venv, ensurepip' 2>/dev/null || packages+=(python3 python3-venv)
  if [[ ${#packages[@]} -gt 0 ]]; then
    note "installing ${packages[*]}"
    if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
      note "not root, or no apt-get; type: sudo apt-get install ${packages[*]}"
      return 1
    fi
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
  fi
  # The real tool rather than a script of ours that reads the same file: what it says about licences and
  # edges is then what everybody else's cargo-deny says. Without its default features it needs no openssl.
  if [[ $(cargo deny --version 2>/dev/null) != "cargo-deny $CARGO_DENY" ]]; then
    note "building cargo-deny $CARGO_DENY, once a machine"
    # Optimised code would take much longer to build than it saves.
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
      CARGO_TARGET_DIR="$TARGET/tools" \
      cargo install --quiet --locked --no-default-features --force --version "$CARGO_DENY" cargo-deny
    rm -rf "$TARGET/tools"
  fi
  cargo --version
  cargo deny --version
}

# ---- the code as it is written -------------------------------------------------------------------

step_format() { cargo fmt --all --check; }

# Twice, because the tests switch a feature on, and code that is dead without it would not be seen.
step_lint() {
  cargo clippy --locked --workspace --all-targets -- -D warnings
  cargo clippy --locked --workspace -- -D warnings
}

step_docs() { RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --quiet; }

# The one rule of the folder map that ops/deny.toml cannot say: decisions use no runtime. Its wrappers
# would have to list every crate of the tree that uses tokio, and tests of decisions may use it.
step_edges() {
  local direct
  direct=$(cargo tree --locked -p helix-aggregates -e normal,build --depth 1 --prefix none --format '{p}')
  if grep -E '^(tokio|sqlx|actix-web|rmcp|reqwest) ' <<<"$direct"; then
    note 'helix-aggregates must not depend on the crates above'
    return 1
  fi
  note "$(($(wc -l <<<"$direct") - 1)) direct dependencies of helix-aggregates, none of them forbidden"
}

step_deny() {
  cargo deny --log-level error --locked --config ops/deny.toml check bans licenses sources
  # The advisory database is a git repository, which a machine behind a registry mirror cannot reach. It
  # is used when it is here already (`cargo deny fetch db`), or when asked for; never passed over in silence.
  if [[ ${HELIX_CI_ADVISORIES:-} == fetch ]]; then
    cargo deny --locked --config ops/deny.toml check advisories
  elif compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs/*" >/dev/null; then
    cargo deny --locked --offline --config ops/deny.toml check advisories
  else
    note 'NOT CHECKED: advisories. No copy of the advisory database here; HELIX_CI_ADVISORIES=fetch fetches it'
  fi
}

# ---- what it does --------------------------------------------------------------------------------

step_build() { cargo test --locked --no-run --quiet; }

# As the README shows it. The limit turns a test that hangs into a failure that is still reported.
step_tests() { timeout --foreground --kill-after=30s 25m cargo test; }

# The rootless download of Postgres, with the system's own hidden. Features of the whole workspace are
# named, not `-p helix-postgres`, so that the dependencies built above serve again.
step_apt() {
  if ! command -v apt-get >/dev/null; then
    note 'NOT RUN: this system has no apt'
    return 0
  fi
  HELIX_TEST_APT=1 timeout --foreground 15m \
    cargo test --locked --features helix-postgres/apt-fallback-test --test apt_fallback
}

step_release() { cargo build --locked --release; }

# The first command of the README, stopped after its steps: into an empty directory, and again on the
# data of the first time; then as a user who is not root, in a clone of his own.
step_demo() {
  local binary place
  binary=$(realpath "$TARGET/release/helix")
  place=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$place'" EXIT
  note "as $(id -un), first start"
  (cd "$place" && timeout 5m "$binary" demo --check)
  note "as $(id -un), on the data of the first start"
  (cd "$place" && timeout 5m "$binary" demo --check)
  rm -rf "$place"
  if [[ $(id -u) == 0 ]]; then
    demo_as_plain_user "$binary"
  fi
}

demo_as_plain_user() {
  local binary=$1 home
  id "$PLAIN_USER" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$PLAIN_USER"
  home=$(getent passwd "$PLAIN_USER" | cut -d: -f6)
  rm -rf "$home/helix"
  git clone --quiet . "$home/helix"
  # Built once above: a second build would prove the same at the price of ten minutes.
  install -D -m 755 "$binary" "$home/helix/target/release/helix"
  chown -R "$PLAIN_USER:" "$home/helix"
  note "as $PLAIN_USER, in a clone of its own"
  runuser -u "$PLAIN_USER" -- env -i HOME="$home" PATH=/usr/local/bin:/usr/bin:/bin \
    bash -c 'cd ~/helix && timeout 5m target/release/helix demo --check'
  rm -rf "$home/helix"
}

# Other people's MCP clients and suites, and a fuzzer that reads our API's document.
step_interop() {
  timeout --foreground 15m ops/interop/run.sh "$TARGET/release/helix"
  timeout --foreground 10m ops/interop/schemathesis.sh "$TARGET/release/helix"
}

# The pages in a real Chromium, which is installed when it is not there.
step_browser() { timeout --foreground 10m ops/browser/run.sh "$TARGET/release/helix"; }

# The example worker of ops/worker, in another language and against the real binary.
step_worker() { timeout 5m python3 ops/worker/check.py "$TARGET/release/helix"; }

# For information: a shared machine is too noisy to fail a change for its speed. Figures that count are
# recorded in ops/bench.
step_bench() {
  local place code=0
  place=$(mktemp -d)
  (binary=$(realpath "$TARGET/release/helix") && cd "$place" && timeout 5m "$binary" bench --quick) || code=$?
  rm -rf "$place"
  note "helix bench --quick ended with $code, which this script does not judge"
}

# ---- go ------------------------------------------------------------------------------------------

chosen=("$@")
[[ ${#chosen[@]} -gt 0 ]] || chosen=("${STEPS[@]}")
for name in "${chosen[@]}"; do
  if [[ " ${STEPS[*]} " != *" $name "* ]]; then
    printf 'no step %s; there are: %s\n' "$name" "${STEPS[*]}" >&2
    exit 64
  fi
done
for name in "${chosen[@]}"; do run "$name"; done
report
