# Let the commands read the start file of the submitting shell. Few shells have one, so tasks start
# a bash for this.

# print_start_file: print lines by which a bash reads the file that BASH_ENV names. Bash itself
# would read it, and expand the name, but BASH_ENV named another file when that bash started. Start
# files are not written for the options errexit, nounset and pipefail.
# Source: bash(1), BASH_ENV.
print_start_file() {
  cat_stdin <<'END_OF_START_FILE'

PSL_START_OPTIONS=:$SHELLOPTS:
set +eu +o pipefail
eval "PSL_START_FILE=\"${BASH_ENV//\"/\\\"}\""
if [[ -r $PSL_START_FILE ]]; then
  source "$PSL_START_FILE"
fi
for PSL_START_FILE in errexit nounset pipefail; do
  if [[ $PSL_START_OPTIONS == *:$PSL_START_FILE:* ]]; then
    set -o "$PSL_START_FILE"
  fi
done
unset -v PSL_START_FILE PSL_START_OPTIONS
END_OF_START_FILE
}
