#!/bin/sh
# Make .venv and install Scrubjay into it, editable, with the exact versions of constraints.txt.
#   scripts/setup.sh dev       everything that tests, lint and types need
#   scripts/setup.sh server    what `scrubjay serve` needs, which is quicker
# PYTHON names the interpreter; otherwise the first of python3, python3.13, python3.12 and python3.11 that is 3.11 or newer.
set -eu
cd "$(dirname "$0")/.."
extra=${1:-dev}

say() { printf 'setup: %s\n' "$*" >&2; }

new_enough() {
    command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

choose_python() {
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if new_enough "$candidate"; then
            PYTHON=$candidate
            return
        fi
    done
    say "no Python 3.11 or newer among: ${PYTHON:-python3 python3.13 python3.12 python3.11}."
    say "Install one (on Debian or Ubuntu: apt-get install python3 python3-venv), or name it: make setup PYTHON=/path/to/python3"
    exit 1
}

# Debian and Ubuntu ship Python without the part of venv that brings pip. Root can install it; others borrow the system's pip.
make_environment() {
    "$PYTHON" -m venv .venv 2>/dev/null && return
    version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "$PYTHON cannot make an environment yet: installing python$version-venv"
        if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y "python$version-venv"; then
            "$PYTHON" -m venv --clear .venv && return
        fi
    fi
    if "$PYTHON" -m pip --version >/dev/null 2>&1; then
        "$PYTHON" -m venv --clear --without-pip .venv
        "$PYTHON" -m pip --python .venv/bin/python install --quiet pip && return
    fi
    rm -rf .venv
    say "$PYTHON can neither make an environment with pip nor has pip itself."
    say "Run: sudo apt-get install python$version-venv   (or the like on your system), then make setup again."
    exit 1
}

if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    choose_python
    say "making .venv with $("$PYTHON" --version)"
    rm -rf .venv
    make_environment
fi

say "installing scrubjay[$extra]"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[$extra]"

# The development install holds the server's, so it counts as both.
touch .venv/.server
if [ "$extra" = dev ]; then
    touch .venv/.dev
fi
