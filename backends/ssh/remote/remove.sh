# Remove folders with their content.
# Usage: remove ROOT FOLDER...
set -eu
cd -- "$1"
rm -rf -- "${@:2}"
