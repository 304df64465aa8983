# Removes folders and what is in them.
# Usage: remove ROOT FOLDER...
set -eu
cd -- "$1"
rm -rf -- "${@:2}"
