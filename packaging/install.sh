#!/bin/sh
# Installs laguna-tui for you alone, without root:
#
#   1. finds a Python from 3.11 on, and says what is missing before anything is downloaded;
#   2. makes a virtual environment in ~/.local/share/laguna-tui/app;
#   3. downloads this release's list of packages and checks its SHA-256, which is in this script; pip then installs exactly
#      these packages, each checked against its SHA-256 in the list;
#   4. tries the program, and only then links it as ~/.local/bin/laguna-tui and removes the version before.
#
# Nothing else is written; settings, sessions and models stay where they are. Beside a folder `wheels` (the offline bundle)
# nothing is downloaded.
#
#   curl -fsSL …/install.sh | sh
#   sh install.sh [--dry-run] [--from ADDRESS|FOLDER] [--python PROGRAM]
#   sh install.sh --uninstall
set -eu
# Python runs with -I below, so it imports nothing from the current folder; the installed program starts without -I.
unset PYTHONHOME PYTHONPATH

# Filled in by packaging/installer.py.
VERSION='@VERSION@'
RELEASE='@RELEASE@'
LINKS='@LINKS@'
LIST_SHA256='@LIST_SHA256@'

DATA="${XDG_DATA_HOME:-$HOME/.local/share}/laguna-tui/app"
LINK="$HOME/.local/bin/laguna-tui"

say() { printf '%s\n' "$*"; }
fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}
run() {
  say "+ $*"
  [ "$dry" = yes ] || "$@"
}

find_python() {
  for name in ${python:+"$python"} python3.13 python3.12 python3.11 python3; do
    if command -v "$name" > /dev/null 2>&1 \
      && "$name" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
      command -v "$name"
      return
    fi
  done
  fail "laguna-tui needs Python 3.11 or newer; install one, or name it: --python PROGRAM"
}

# What would end in a page of compiler errors is one sentence here.
check_system() {
  case "$(uname -s)" in
    Linux | Darwin) ;;
    *) fail "laguna-tui runs on Linux and macOS; on Windows install WSL 2 (wsl --install) and run this inside it" ;;
  esac
  "$1" -I -c 'import ensurepip, venv' 2> /dev/null \
    || fail "$1 has no venv module; install it (Debian, Ubuntu: apt install python3-venv)"
  # What pip would do with llama-cpp-python, asked before anything is downloaded: is there a wheel that fits?
  if ! have_wheel "$1" "$2" && ! have_compiler; then
    fail "there is no prebuilt llama.cpp for $(uname -s) on $(uname -m), and no C/C++ compiler to build one;" \
      "install gcc and g++ (Debian, Ubuntu: apt install build-essential; macOS: xcode-select --install)"
  fi
}

# The list begins with a line for each portable wheel: system, processor, and the least version of glibc or macOS.
have_wheel() {
  "$1" -I - "$2" << 'END'
import platform, sys
here = platform.libc_ver()[1] if platform.system() == "Linux" else platform.mac_ver()[0]
number = lambda text: [int(part) for part in text.split(".")[:2] if part.isdigit()]
lines = [line.split() for line in open(sys.argv[1], encoding="utf-8") if line.startswith("# llama-cpp-python:")]
fits = [line for line in lines if line[2:4] == [platform.system(), platform.machine()] and number(line[4]) <= number(here)]
sys.exit(not fits)
END
}

have_compiler() {
  for name in c++ g++ clang++; do
    command -v "$name" > /dev/null 2>&1 && return 0
  done
  return 1
}

sha256_of() {
  if command -v sha256sum > /dev/null 2>&1; then
    sha256sum "$1" | cut -d ' ' -f 1
  else
    shasum -a 256 "$1" | cut -d ' ' -f 1
  fi
}

# The list of packages, checked, as the file $1.
fetch_list() {
  case "$from" in
    *://*) curl --proto '=https,file' --location --fail --silent --show-error --output "$1" "$from/requirements.txt" \
      || fail "$from/requirements.txt cannot be downloaded; check the connection and run this again" ;;
    *) cp "$from/requirements.txt" "$1" || fail "$from is not the folder of a release" ;;
  esac
  found=$(sha256_of "$1")
  [ "$found" = "$LIST_SHA256" ] \
    || fail "requirements.txt has the SHA-256 $found, not $LIST_SHA256: do not use it; download install.sh again"
}

install() {
  case "$VERSION" in
    @*) fail "this is the template of a release's install.sh; use the one of a release" ;;
  esac
  interpreter=$(find_python)
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  fetch_list "$work/requirements.txt"
  check_system "$interpreter" "$work/requirements.txt"

  target="$DATA/$VERSION-$(date +%s)"
  say "laguna-tui $VERSION with $interpreter, into $target:"
  run "$interpreter" -I -m venv "$target"
  # An unfinished installation leaves nothing behind, and the version before untouched.
  [ "$dry" = yes ] || trap 'rm -rf "$work" "$target"' EXIT
  set -- --disable-pip-version-check --no-input --quiet --require-hashes --prefer-binary -r "$work/requirements.txt"
  case "$from" in
    *://*) set -- "$@" --find-links "$links" ;;
    *) set -- "$@" --no-index --find-links "$from/wheels" ;;
  esac
  run "$target/bin/python" -I -m pip install "$@" || fail "pip could not install it; nothing was changed"
  run "$target/bin/laguna-tui" --version || fail "the installed program does not start; nothing was changed"

  run mkdir -p "$(dirname "$LINK")"
  run ln -sfn "$target/bin/laguna-tui" "$LINK"
  trap 'rm -rf "$work"' EXIT
  for other in "$DATA"/*; do
    [ "$other" = "$target" ] || [ ! -e "$other" ] || run rm -rf "$other"
  done
  [ "$dry" = no ] || { say "Nothing was done; these are the steps." && return; }
  case ":$PATH:" in
    *":$(dirname "$LINK"):"*) say "Done. Go to a project's folder and run: laguna-tui" ;;
    *) say "Done. $(dirname "$LINK") is not on your PATH; run: $LINK" ;;
  esac
}

uninstall() {
  [ -e "$DATA" ] || [ -L "$LINK" ] || fail "laguna-tui was not installed by this script"
  case "$(readlink "$LINK" 2> /dev/null || true)" in
    "$DATA"/*) run rm -f "$LINK" ;;
  esac
  run rm -rf "$DATA"
  say "Done. Settings, sessions and models stay; the manual's page Install names their folders."
}

main() {
  dry=no action=install python='' from="$RELEASE" links="$LINKS"
  # The offline bundle has its wheels beside this script. Read from a pipe, it has no folder.
  if [ -f "$0" ]; then
    here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
    [ ! -d "$here/wheels" ] || [ ! -f "$here/requirements.txt" ] || from="$here"
  fi
  while [ $# -gt 0 ]; do
    case "$1" in
      --dry-run) dry=yes ;;
      --uninstall) action=uninstall ;;
      --from) from="${2:?--from needs an address or a folder}" links="$2" && shift ;;
      --python) python="${2:?--python needs a program}" && shift ;;
      *) fail "$1: it must be one of --dry-run, --from, --python, --uninstall" ;;
    esac
    shift
  done
  "$action"
}

# A script that was downloaded in part does nothing: only the last line starts it.
main "$@"
