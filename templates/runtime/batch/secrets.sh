# Check the files of the job's secrets before it starts, and remove them at its end.

# Before anything starts, on the batch node: all are there, and nobody else can read them.
check_secrets() {
  local name missing='' open='' mode
  for name in ${PSL_SECRET_NAMES-}; do
    if [[ ! -f $PSL_SECRETS_FOLDER/$name || ! -r $PSL_SECRETS_FOLDER/$name ]]; then
      missing+=" $PSL_SECRETS_FOLDER/$name"
    elif mode=$(stat -L -c %a -- "$PSL_SECRETS_FOLDER/$name") && [[ ! -O $PSL_SECRETS_FOLDER/$name || $mode != [46]00 ]]; then
      open+=" $PSL_SECRETS_FOLDER/$name"
    fi
  done
  if [[ $missing ]]; then
    die "each secret of the job stands in a file of its own, its exact text; not there:$missing"
  fi
  if [[ $open ]]; then
    die "the file of a secret must be yours and nobody else's to read (chmod 600):$open"
  fi
}

# A run by hand has its secrets in a folder of the user's own, which stays as it is. By name it may be another job's by now.
forget_secrets() {
  [[ ! ${PSL_SECRET_NAMES-} || $PSL_SECRETS_FOLDER != "$PSL_FOLDER/secrets" ]] || rm -rf -- ../../secrets
}
