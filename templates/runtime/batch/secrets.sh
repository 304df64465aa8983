# Check the files of the job's secrets, and remove them at its end.

# check_secrets: check on the batch node, before anything starts, that all secrets exist and that no
# other user can read them.
check_secrets() {
  local name file missing='' open='' mode
  for name in ${PSL_SECRET_NAMES-}; do
    file=$PSL_SECRETS_FOLDER/$name
    if [[ ! -f $file || ! -r $file ]]; then
      missing+=" $file"
    elif mode=$(stat -L -c %a -- "$file") && [[ ! -O $file || $mode != [46]00 ]]; then
      open+=" $file"
    fi
  done
  if [[ $missing ]]; then
    die "each secret of the job must be in a separate file, as its exact text; not there:$missing"
  fi
  if [[ $open ]]; then
    die "the file of a secret must be yours, and readable by nobody else (chmod 600):$open"
  fi
}

# forget_secrets: remove the secrets of a submitted job. A run by hand reads its secrets from the
# user's folder, which stays. The path is relative, because another job may have the run folder's
# name by now.
forget_secrets() {
  if [[ ${PSL_SECRET_NAMES-} && $PSL_SECRETS_FOLDER == "$PSL_FOLDER/secrets" ]]; then
    rm -rf -- ../../secrets
  fi
}
