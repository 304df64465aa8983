#!/usr/bin/env bash
# Make the virtual environment FOLDER with the first Python that can run paislurm: PYTHON where it is named, else
# Debian's own, which all users can read, else what is on PATH. Root on Debian gets what is missing from apt.
#
#   install/venv.sh FOLDER [PYTHON]
set -euo pipefail

if (($# < 1 || $# > 2)); then
  echo "usage: install/venv.sh FOLDER [PYTHON]" >&2
  exit 2
fi
readonly folder=$1 named=${2-}
readonly least=3.10
candidates=(/usr/bin/python3 python3 python3.{10..20} python)
[[ -z $named ]] || candidates=("$named")

# runs_paislurm PYTHON: it is new enough, and can make virtual environments
runs_paislurm() {
  "$1" -I -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1
}

# say_what_is_wrong PYTHON: print why it cannot be used
say_what_is_wrong() {
  local version
  if ! version=$("$1" -I -c 'import sys; print(".".join(map(str, sys.version_info[:3])))' 2>/dev/null); then
    echo "$1 does not run"
  elif ! "$1" -I -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo "$1 is Python $version, which is too old"
  else
    echo "$1 (Python $version) lacks the module venv or ensurepip, which Debian has in python3-venv"
  fi
}

# find_python: print the first Python that will do
find_python() {
  local python
  for python in "${candidates[@]}"; do
    python=$(command -v "$python") && runs_paislurm "$python" && echo "$python" && return
  done
  return 1
}

if ! python=$(find_python) && [[ -z $named && $EUID -eq 0 ]] && command -v apt-get >/dev/null; then
  apt-get update -q && apt-get install -yq --no-install-recommends python3 python3-venv
  python=$(find_python) || true
fi
if [[ -z $python ]]; then
  {
    echo "paislurm needs Python $least or later with its module venv, and finds none here:"
    echo "  $(say_what_is_wrong "${candidates[0]}")"
    echo "Name another one, for example after \`module load python\`: make demo PYTHON=\$(command -v python3.11)"
  } >&2
  exit 1
fi
"$python" -I -m venv "$folder"
[[ -n ${PIP_NO_INDEX-} ]] || "$folder/bin/pip" install -q --upgrade 'pip>=25.1'
