# Secrets: each is the text of a file of its own, put in place of `<% $secrets.name %>` in the task, in memory alone.

# shellcheck disable=SC2016 # it is no variable of the shell
readonly SECRET_TAG='<% $secrets.' SECRET_TAG_END=' %>'

# Before anything starts, on the batch node: all are there, and nobody else can read them.
check_secrets() {
  local name missing='' open='' line
  for name in ${SECRET_NAMES-}; do
    if [[ ! -f $SECRETS_FOLDER/$name || ! -r $SECRETS_FOLDER/$name ]]; then
      missing+=" $SECRETS_FOLDER/$name"
    elif line=$(stat -L -c '%u %a' -- "$SECRETS_FOLDER/$name") && [[ $line != "$UID "[46]00 ]]; then
      open+=" $SECRETS_FOLDER/$name"
    fi
  done
  [[ ! $missing ]] || give_up "each secret of the job stands in a file of its own, its exact text; not there:$missing"
  [[ ! $open ]] || give_up "the file of a secret must be yours and nobody else's to read (chmod 600):$open"
}

# A run by hand has its secrets in a folder of the user's own, which stays as it is.
forget_secrets() {
  [[ ! ${SECRET_NAMES-} || $SECRETS_FOLDER != "$FOLDER/secrets" ]] || rm -rf -- "$SECRETS_FOLDER"
}

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
