# Put secrets into the scripts of a task.
#
# Scripts contain a tag `<% $secrets.name %>` for each secret, and each secret is in a separate
# file. Only the task combines the two, in memory.

# shellcheck disable=SC2016 # it is no variable of the shell
readonly PSL_SECRET_TAG='<% $secrets.' PSL_SECRET_TAG_END=' %>'
PSL_SECRET=''

# pass_secrets: let bash read the caller's `script` from a pipe: with secrets it never gets into a
# file.
pass_secrets() {
  [[ ${PSL_SECRET_NAMES-} ]] || return 0
  insert_secrets "$script" || return
  exec {PSL_SCRIPT_FD}< <(printf %s ${PSL_PIECES[@]+"${PSL_PIECES[@]}"})
  script=/dev/fd/$PSL_SCRIPT_FD
}

# insert_secrets FILE: put the secrets into the text of a file, in the pieces PSL_PIECES. Secrets
# are not searched for tags. A tag has a single `>`, at its end. Read up to each `>`, so that no tag
# copies the whole text.
insert_secrets() {
  local piece before name more=1 LC_ALL=C
  PSL_PIECES=()
  while ((more)); do
    IFS= read -r -d '>' piece || more=0
    if ((more)); then
      piece+='>'
    fi
    if [[ $piece == *"$PSL_SECRET_TAG"*"$PSL_SECRET_TAG_END" ]]; then
      before=${piece%"$PSL_SECRET_TAG"*}
      name=${piece:${#before}+${#PSL_SECRET_TAG}}
      read_secret "${name%"$PSL_SECRET_TAG_END"}" || return
      piece=$before$PSL_SECRET
      # The lines of the script no longer match those of the job file.
      if [[ $PSL_SECRET == *$'\n'* ]]; then
        PSL_NOTES_END=''
      fi
    fi
    PSL_PIECES+=("$piece")
  done <"$1"
}

# read_secret NAME: read a secret into PSL_SECRET, or the start of a tag for an empty name. With
# "NAME quoted" quote the secret as one word of bash.
read_secret() {
  local file=$PSL_SECRETS_FOLDER/${1% quoted}
  PSL_SECRET=$PSL_SECRET_TAG
  [[ $1 ]] || return 0
  if [[ ! -r $file ]]; then
    log "error: cannot read $file"
    return 1
  fi
  IFS= read -r -d '' PSL_SECRET <"$file"
  if [[ $1 == *' quoted' ]]; then
    quote "$PSL_SECRET"
    PSL_SECRET=$PSL_QUOTED
  fi
}
