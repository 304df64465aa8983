# The plugin git: clone a repository.
#
# Clone in up to ten tries, with pauses that double up to 300 s.
# Source: OpenPAI runtime, plugin git.
if ! command -v git >/dev/null; then
  echo "there is no git here" >&2
  exit 127
fi
if [[ -e $DIRECTORY && $(ls -A -- "$DIRECTORY" 2>&1) ]]; then
  printf '%s exists and is not an empty folder\n' "$DIRECTORY" >&2
  exit 1
fi
if [[ $OPTIONS ]]; then
  mapfile -t options <<<"$OPTIONS"
else
  options=()
fi

# decode_percent TEXT: print a text, with each %XX replaced by its character.
decode_percent() {
  local text=${1//\\/\\\\}
  printf '%b' "${text//%/\\x}"
}

# The user and password of the address must not be in a command line, of git or its children, nor in
# the configuration of the clone. Git reads them from a file beside the task's control FIFO, which
# exists as long as the task, for later uses of the clone.
address=$REPOSITORY settings=() kept=()
if [[ $REPOSITORY =~ ^(https?://)([^/@]*)@(.*)$ ]]; then
  address=${BASH_REMATCH[1]}${BASH_REMATCH[3]}
  server=credential.${BASH_REMATCH[1]}${BASH_REMATCH[3]%%/*}
  words=${BASH_REMATCH[2]}:
  file=$(mktemp "$PAISLURM_CONTROL.git.XXXXXX") || exit
  user=$(decode_percent "${words%%:*}")
  words=${words#*:}
  printf 'username=%s\npassword=%s\n' "$user" "$(decode_percent "${words%:}")" >"$file" || exit
  for setting in "$server.helper=" "$server.helper=!cat $file; :"; do
    settings+=(-c "$setting")
    kept+=(--config "$setting")
  done
fi

clone() {
  GIT_TERMINAL_PROMPT=0 git ${settings[@]+"${settings[@]}"} \
    clone ${kept[@]+"${kept[@]}"} ${options[@]+"${options[@]}"} -- "$address" "$DIRECTORY"
}

for pause in 1 2 4 8 16 32 64 128 256 ''; do
  if clone; then
    exit 0
  fi
  if [[ $pause ]]; then
    sleep "$pause"
  fi
done
exit 1
