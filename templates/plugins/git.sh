# The plugin git: a clone, tried ten times with pauses that double up to 300 s. Source: OpenPAI runtime, plugin git.
command -v git >/dev/null || { echo "there is no git here" >&2; exit 127; }
if [[ -e $DIRECTORY && $(ls -A -- "$DIRECTORY" 2>&1) ]]; then
  printf '%s exists and is not an empty folder\n' "$DIRECTORY" >&2
  exit 1
fi
mapfile -t options <<<"$OPTIONS"
[[ $OPTIONS ]] || options=()

# A name and a password in the address stand on no command line, of git or of what it starts: it asks a helper for them.
address=$REPOSITORY settings=() user='' password=''
decoded() { local text=${1//\\/\\\\}; printf '%b' "${text//%/\\x}"; }
if [[ $REPOSITORY =~ ^(https?://)([^/@]*)@(.*)$ ]]; then
  address=${BASH_REMATCH[1]}${BASH_REMATCH[3]}
  server=credential.${BASH_REMATCH[1]}${BASH_REMATCH[3]%%/*}
  words=${BASH_REMATCH[2]}:
  user=$(decoded "${words%%:*}") words=${words#*:}
  password=$(decoded "${words%:}")
  # shellcheck disable=SC2016 # git's shell reads it
  answer='!answer() { printf "username=%s\npassword=%s\n" "$CLONE_USER" "$CLONE_PASSWORD"; }; answer'
  settings=(-c "$server.helper=" -c "$server.helper=$answer")
fi

clone() {
  GIT_TERMINAL_PROMPT=0 CLONE_USER=$user CLONE_PASSWORD=$password git ${settings[@]+"${settings[@]}"} \
    clone ${options[@]+"${options[@]}"} -- "$address" "$DIRECTORY"
}

# The clone remembers the whole address, as a clone does, for what the commands may do with it.
remember_address() {
  local config text whole=${REPOSITORY//\\/\\\\}
  config=$(cd -- "$DIRECTORY" && cd -- "$(git rev-parse --git-dir)" && pwd)/config
  text=$(<"$config")
  [[ $text == *"$address"* ]] || return 0
  printf '%s"%s"%s\n' "${text%%"$address"*}" "${whole//\"/\\\"}" "${text#*"$address"}" >"$config"
}

for pause in 1 2 4 8 16 32 64 128 256 ''; do
  if clone; then
    [[ $address == "$REPOSITORY" ]] || remember_address || true
    exit 0
  fi
  [[ ! $pause ]] || sleep "$pause"
done
exit 1
