#!/usr/bin/env bash
# Makes .venv with the locked Python dependencies: those that running needs; with --dev the tools for tests and checks, too, with
# --fleet what hosts of a fleet need.
# Needs Python 3.11 or newer ($BASE_PYTHON if set); gets uv itself if the machine has none.
set -euo pipefail
cd "$(dirname "$0")/.."
UV_VERSION=0.13.8

fail() { printf '\n' >&2; printf '%s\n' "$@" >&2; exit 1; }
trap 'printf "\nInterrupted. The same command resumes; what was fetched is kept.\n" >&2; exit 130' INT

python=""
for candidate in "${BASE_PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
  [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    # Not a wrapper such as pyenv's, which uv takes for another Python each time, and makes .venv anew.
    python=$("$candidate" -c 'import sys; print(sys.executable)')
    break
  fi
done
[ -n "$python" ] || fail "Tidegauge needs Python 3.11 or newer and found none on PATH." \
  "Install it (Debian 12 or newer: sudo apt-get install python3 python3-venv), or name one: make PYTHON=/path/to/python3.12"
"$python" scripts/preflight.py ${SETUP_FOR:+"--for-$SETUP_FOR"} || fail "Nothing was fetched or changed."

# A uv of our own, so that the lock file means the same everywhere; never the user's environment.
uv=.tools/uv/bin/uv
if [ "$("$uv" --version 2>/dev/null | cut -d' ' -f2)" != "$UV_VERSION" ]; then
  if [ "$(uv --version 2>/dev/null | cut -d' ' -f2)" = "$UV_VERSION" ]; then
    uv=$(command -v uv)
  else
    echo "Fetching uv $UV_VERSION ..."
    rm -rf .tools/uv
    if "$python" -m venv .tools/uv >/dev/null 2>&1; then
      pip=(.tools/uv/bin/python -m pip install)
    elif "$python" -m pip --version >/dev/null 2>&1; then
      pip=("$python" -m pip install --target .tools/uv)
    else
      fail "This Python ($python) has neither venv nor pip, so uv can't be fetched." \
        "Install one of them (Debian: sudo apt-get install python3-venv), then run make again."
    fi
    "${pip[@]}" -qq --disable-pip-version-check "uv==$UV_VERSION" ||
      fail "uv $UV_VERSION could not be fetched from the Python package index (see above)." \
        "Check the network, or name a mirror in PIP_INDEX_URL; then run make again."
  fi
fi

# Exactly what is locked, but what tests need is kept once it is there.
groups=(--no-dev --extra all)
if [ "${1:-}" = --fleet ] || [ -e .venv/.fleet-ready ]; then groups=(--no-dev --all-extras); fi
if [ "${1:-}" = --dev ] || [ -e .venv/.dev-ready ]; then groups=(--all-extras); fi
case "${1:-}" in
  --dev) echo "Adding what tests and checks need ..." ;;
  --fleet) echo "Adding what hosts of a fleet need ..." ;;
  *) echo "Installing the locked Python dependencies ..." ;;
esac
# Compiled once: a Python that is told to keep no bytecode would compile them at each start.
export UV_PYTHON_DOWNLOADS=never UV_COMPILE_BYTECODE=1
install() {
  if [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then
    "$uv" sync --quiet --locked ${groups[@]+"${groups[@]}"} --python "$python"
  else
    # `uv sync` refuses an index that is not the lock file's: the same versions, with the same hashes, from the mirror.
    "$uv" venv --quiet --allow-existing --python "$python" .venv &&
      "$uv" export --quiet --frozen ${groups[@]+"${groups[@]}"} --output-file .venv/requirements.txt >/dev/null &&
      "$uv" pip sync --quiet --python .venv/bin/python .venv/requirements.txt
  fi
}
install || fail "The locked Python packages could not be installed (see above)." \
  "Check the network, or name a mirror in UV_DEFAULT_INDEX; then run make again: what was fetched is kept."
