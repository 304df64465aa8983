# Fetch images with enroot.
#
# Source: enroot, document of `import`.

readonly PSL_IMAGE_SUFFIX='.sqsh' PSL_FETCHES_WITH=enroot PSL_SILENT_FAILURE=transient
readonly PSL_PULL_ERROR='\[ERROR\](.*)' PSL_PERMANENT_ERRORS=' (401|403|404)'

# fetch_by_runtime NEW REGISTRY REPOSITORY DIGEST: fetch an image as one file. Temporary files are
# beside the image, and are removed with it.
fetch_by_runtime() {
  local log=$1.log
  if ! mkdir -p -- "$1.config" "$1.tmp"; then
    set_problem permanent "cannot write to $PSL_CACHE"
    return
  fi
  if [[ $PSL_LOGIN_USER$PSL_LOGIN_PASSWORD == *[[:space:]]* ]]; then
    set_problem permanent "the credentials for $2 contain blanks, which enroot does not accept"
    return
  fi
  if [[ $PSL_LOGIN_USER ]]; then
    print_credentials "$2" >"$1.config/.credentials"
  fi
  (
    if [[ ${PSL_CERTIFICATES-} ]]; then
      export CURL_CA_BUNDLE="$PSL_CERTIFICATES"
    fi
    ENROOT_CONFIG_PATH=$1.config ENROOT_CACHE_PATH=$1.tmp ENROOT_TEMP_PATH=$1.tmp \
      enroot import --output "$1" "docker://$2#$3:$4"
  ) </dev/null >"$log" 2>&1 || set_pull_problem "$2/$3@$4" "$log"
}

# print_credentials REGISTRY: print the credentials for a registry in enroot's format. Two
# registries get their tokens from a different server.
print_credentials() {
  local name
  local -a names=("${1%%:*}")
  case $1 in
    registry-1.docker.io) names+=(auth.docker.io) ;;
    nvcr.io) names+=(authn.nvidia.com) ;;
  esac
  for name in "${names[@]}"; do
    printf 'machine %s login %s password %s\n' "$name" "$PSL_LOGIN_USER" "$PSL_LOGIN_PASSWORD"
  done
}
