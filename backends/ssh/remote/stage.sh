# Make a new folder with subfolders for an upload.
# Usage: stage NEW [FOLDER ...]
set -eu
umask 077
rm -rf -- "$1"
mkdir -p -- "${1%/*}"
mkdir -- "$1"
cd -- "$1"
if (($# > 1)); then mkdir -p -- "${@:2}"; fi
