# Images for enroot. Source: enroot, document of `import`.

readonly PSL_IMAGE_SUFFIX='.sqsh' PSL_FETCHES_WITH=enroot PSL_SILENT_FAILURE=transient
readonly PSL_PULL_ERROR='\[ERROR\](.*)' PSL_PERMANENT_ERRORS=' (401|403|404)'

# fetch_by_runtime NEW REGISTRY REPOSITORY DIGEST: as one file. All that is on the way is beside it, and goes with it.
fetch_by_runtime() {
  local log=$1.log name
  mkdir -p -- "$1.config" "$1.tmp" || { problem permanent "cannot write to $PSL_CACHE"; return; }
  [[ $PSL_LOGIN_USER$PSL_LOGIN_PASSWORD != *[[:space:]]* ]] ||
    { problem permanent "enroot takes no credentials with blanks in them, as those for $2 have"; return; }
  if [[ $PSL_LOGIN_USER ]]; then
    # Tokens may come from another server than the registry.
    for name in "${2%%:*}" auth.docker.io authn.nvidia.com; do
      [[ $name == "${2%%:*}" || $2$name == registry-1.docker.ioauth.docker.io || $2$name == nvcr.ioauthn.nvidia.com ]] || continue
      printf 'machine %s login %s password %s\n' "$name" "$PSL_LOGIN_USER" "$PSL_LOGIN_PASSWORD"
    done >"$1.config/.credentials"
  fi
  (
    if [[ ${PSL_CERTIFICATES-} ]]; then
      export CURL_CA_BUNDLE="$PSL_CERTIFICATES"
    fi
    ENROOT_CONFIG_PATH=$1.config ENROOT_CACHE_PATH=$1.tmp ENROOT_TEMP_PATH=$1.tmp \
      enroot import --output "$1" "docker://$2#$3:$4"
  ) </dev/null >"$log" 2>&1 || pull_problem "$2/$3@$4" "$log"
}
