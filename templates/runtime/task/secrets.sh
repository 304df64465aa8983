# Put secrets into the scripts of a task.
#
# A script has a tag `<% $secrets.name %>` for a secret, and each secret has a file of its own. Only
# the task puts the two together, in memory.

# shellcheck disable=SC2016 # it is no variable of the shell
readonly PSL_SECRET_TAG='<% $secrets.' PSL_SECRET_TAG_END=' %>'
PSL_SECRET=''

# insert_secrets FILE: put the secrets into the text of a file, in the pieces PSL_PIECES.
# Secrets themselves are not searched for tags. A tag ends with `>` and has no other, so this reads
# up to each `>`, and never copies a long text as a whole for each tag in it.
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
      # The lines of the script are not those of the job file any more.
      if [[ $PSL_SECRET == *$'\n'* ]]; then
        PSL_NOTES_END=''
      fi
    fi
    PSL_PIECES+=("$piece")
  done <"$1"
}

# read_secret NAME: read a secret into PSL_SECRET. With "NAME quoted" the secret becomes one word of
# bash, whatever its text is. With no name the text is the beginning of a tag itself.
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
