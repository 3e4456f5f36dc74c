#!/usr/bin/env bash
# Makes .venv with the locked Python dependencies. Needs Python 3.11 or newer; gets uv itself if the machine has none.
set -euo pipefail
cd "$(dirname "$0")/.."
UV_VERSION=0.13.8

fail() { printf '\n%s\n' "$@" >&2; exit 1; }

python=""
for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
  [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
  if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$(command -v "$candidate")
    break
  fi
done
[ -n "$python" ] || fail "Tidegauge needs Python 3.11 or newer and found none on PATH." \
  "Install it (Debian 12 or newer: sudo apt-get install python3 python3-venv), or name one: make PYTHON=/path/to/python3.12"

# A uv of our own, so that the lock file means the same everywhere; never the user's environment.
uv=.tools/uv/bin/uv
if [ "$("$uv" --version 2>/dev/null | cut -d' ' -f2)" != "$UV_VERSION" ]; then
  if [ "$(uv --version 2>/dev/null | cut -d' ' -f2)" = "$UV_VERSION" ]; then
    uv=$(command -v uv)
  else
    echo "Fetching uv $UV_VERSION ..."
    rm -rf .tools/uv
    if "$python" -m venv .tools/uv >/dev/null 2>&1; then
      .tools/uv/bin/python -m pip install -q --disable-pip-version-check "uv==$UV_VERSION" ||
        fail "uv $UV_VERSION could not be fetched from PyPI (see above)." "Check the network or pip's configuration, then run make again."
    elif "$python" -m pip --version >/dev/null 2>&1; then
      "$python" -m pip install -q --disable-pip-version-check --target .tools/uv "uv==$UV_VERSION"
    else
      fail "This Python ($python) has neither venv nor pip, so uv can't be fetched." \
        "Install one of them (Debian: sudo apt-get install python3-venv), then run make again."
    fi
  fi
fi

echo "Installing the locked Python dependencies ..."
UV_PYTHON_DOWNLOADS=never "$uv" sync --quiet --locked --python "$python"
