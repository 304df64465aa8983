# Secrets: each is the text of a file of its own, put in place of `<% $secrets.name %>` in the task, in memory alone.

# shellcheck disable=SC2016 # it is no variable of the shell
readonly SECRET_TAG='<% $secrets.' SECRET_TAG_END=' %>'

# Put the secrets into the text of a file, in TEXT; what is put in is not looked at again.
insert_secrets() {
  local rest name secret LC_ALL=C
  IFS= read -r -d '' rest <"$1"
  TEXT=''
  while [[ $rest == *"$SECRET_TAG"* ]]; do
    TEXT+=${rest%%"$SECRET_TAG"*}
    rest=${rest#*"$SECRET_TAG"}
    name=${rest%%"$SECRET_TAG_END"*}
    rest=${rest#*"$SECRET_TAG_END"}
    secret=$SECRET_TAG
    if [[ $name ]]; then
      [[ -r $SECRETS_FOLDER/$name ]] || { say "error: cannot read $SECRETS_FOLDER/$name"; return 1; }
      IFS= read -r -d '' secret <"$SECRETS_FOLDER/$name"
    fi
    TEXT+=$secret
  done
  TEXT+=$rest
}
