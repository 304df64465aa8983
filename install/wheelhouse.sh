#!/usr/bin/env bash
# Make the folder WHEELHOUSE for machines without a network: paislurm and all that it needs as wheels, for this platform
# and the Python that install/venv.sh finds, or PYTHON, and a requirements.txt that pins each by its SHA-256. Needs an index of packages, once.
#
#   install/wheelhouse.sh WHEELHOUSE [PYTHON]      EXTRAS=ssh takes fabric along
set -euo pipefail
shopt -s nullglob

if (($# < 1 || $# > 2)); then
  echo "usage: install/wheelhouse.sh WHEELHOUSE [PYTHON]" >&2
  exit 2
fi
readonly wheelhouse=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# pinned: print a requirement for each wheel, by its name, its version and its hash
pinned() {
  local wheel name version rest
  for wheel in *.whl; do
    IFS=- read -r name version rest <<<"$wheel"
    echo "$name==$version --hash=sha256:$(sha256sum "$wheel" | cut -d ' ' -f 1)"
  done
}

if [[ -e $wheelhouse ]]; then
  echo "$wheelhouse is there already: name a new folder" >&2
  exit 1
fi
"$root/install/venv.sh" "$work/venv" "${2-}"
# The build leaves files beside the source, which may belong to somebody else.
mkdir "$work/source" "$work/wheels"
tar -C "$root" --exclude-vcs --exclude=./.venv --exclude=./build --exclude=./dist -cf - . | tar -C "$work/source" -xf -
"$work/venv/bin/pip" wheel -q --wheel-dir "$work/wheels" "$work/source${EXTRAS:+[$EXTRAS]}"
(cd "$work/wheels" && pinned) >"$work/requirements.txt"
mv "$work/requirements.txt" "$work/wheels"
mkdir -p "$(dirname "$wheelhouse")"
mv "$work/wheels" "$wheelhouse"
echo "$wheelhouse has $(wc -l <"$wheelhouse/requirements.txt") wheels for $("$work/venv/bin/python" -V)"
