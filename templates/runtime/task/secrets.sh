# Secrets: each is the text of a file of its own, put in place of `<% $secrets.name %>` in the task, in memory alone.

# shellcheck disable=SC2016 # it is no variable of the shell
readonly PSL_SECRET_TAG='<% $secrets.' PSL_SECRET_TAG_END=' %>'

# Put the secrets into the text of a file, in PSL_PIECES; what is put in is not looked at again. `<% $secrets.name quoted %>` is one
# word for bash, whatever the secret is. The text is read up to each
# `>`, which a tag ends with and has nowhere else: so a long one is never copied as a whole for each tag in it.
insert_secrets() {
  local piece before name file secret more=1 LC_ALL=C
  PSL_PIECES=()
  while ((more)); do
    IFS= read -r -d '>' piece || more=0
    if ((more)); then
      piece+='>'
    fi
    if [[ $piece == *"$PSL_SECRET_TAG"*"$PSL_SECRET_TAG_END" ]]; then
      before=${piece%"$PSL_SECRET_TAG"*}
      name=${piece:${#before}+${#PSL_SECRET_TAG}}
      name=${name%"$PSL_SECRET_TAG_END"}
      secret=$PSL_SECRET_TAG
      if [[ $name ]]; then
        file=$PSL_SECRETS_FOLDER/${name% quoted}
        [[ -r $file ]] || { log "error: cannot read $file"; return 1; }
        IFS= read -r -d '' secret <"$file"
        [[ $name != *' quoted' ]] || { quote "$secret"; secret=$PSL_QUOTED; }
      fi
      piece=$before$secret
    fi
    PSL_PIECES+=("$piece")
  done <"$1"
}
