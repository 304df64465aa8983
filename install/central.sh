#!/usr/bin/env bash
# Install paislurm for all users of a cluster, beside the versions that are there: FOLDER/VERSION is an environment, and
# FOLDER/modulefiles/paislurm/VERSION its module file, for Environment Modules and Lmod. With WHEELHOUSE, which
# install/wheelhouse.sh makes, no network is needed. FOLDER must be on a file system that all nodes see under this path.
#
#   install/central.sh FOLDER [WHEELHOUSE]         PYTHON=/usr/bin/python3.11 names the Python; without a WHEELHOUSE,
#                                                  EXTRAS=ssh adds what install/wheelhouse.sh says
set -euo pipefail
shopt -s nullglob
umask 022

# is_new VERSION: complain if this version is there
is_new() {
  [[ -e $folder/$1 ]] || return 0
  echo "$folder/$1 is there already, and jobs may use it: remove it first, or install another version" >&2
  return 1
}

# version_of WHEEL: print the version that is in a wheel's name
version_of() {
  local version=${1##*/paislurm-}
  echo "${version%%-*}"
}

# make_module VERSION: write its module file, and make it the default
make_module() {
  local modules=$folder/modulefiles/paislurm
  mkdir -p "$modules"
  sed -e "s|@VERSION@|$1|g" -e "s|@FOLDER@|$folder|g" "$root/install/modulefile.tcl" >"$modules/$1"
  printf '#%%Module1.0\nset ModulesVersion "%s"\n' "$1" >"$modules/.version"
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if (($# < 1 || $# > 2)); then
  echo "usage: install/central.sh FOLDER [WHEELHOUSE]" >&2
  exit 2
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
readonly root folder
wheelhouse=${2-}
if [[ $folder =~ [^A-Za-z0-9/._+-] ]]; then
  echo "$folder: a folder of programs has a name without blanks and quotes" >&2
  exit 1
fi
if [[ -z $wheelhouse ]]; then
  wheelhouse=$(mktemp -d)/wheels
  trap 'rm -rf "${wheelhouse%/wheels}"' EXIT
  "$root/install/wheelhouse.sh" "$wheelhouse" "${PYTHON-}" >/dev/null
fi
if [[ $(find "$folder" -maxdepth 0 -perm /022) ]]; then
  echo "warning: others than its owner can write to $folder, and so replace what all users run: chmod go-w $folder" >&2
fi
wheels=("$wheelhouse"/paislurm-*.whl)
if [[ ${#wheels[@]} -ne 1 || ! -f $wheelhouse/requirements.txt ]]; then
  echo "$wheelhouse is no folder that install/wheelhouse.sh made" >&2
  exit 1
fi
version=$(version_of "${wheels[0]}")
is_new "$version"

trap 'rm -rf "$folder/$version"' ERR
PIP_NO_INDEX=1 "$root/install/venv.sh" "$folder/$version" "${PYTHON-}"
"$folder/$version/bin/pip" install -q --no-index --find-links "$wheelhouse" --require-hashes -r "$wheelhouse/requirements.txt"
# -I: what a user's PYTHONPATH names, as other modules set it, is no part of the program; nor is the current folder.
sed -i -e '1s|^#!.*/python[0-9.]*$|& -I|' -e '2s|^.*exec.*python[0-9.]*"* |&-I |' "$folder/$version/bin/paislurm"
mkdir "$folder/$version/program"
ln -s ../bin/paislurm "$folder/$version/program/paislurm"
trap - ERR
make_module "$version"
echo "paislurm $version is in $folder/$version; users need: module use $folder/modulefiles && module load paislurm"
