# Fetch images with Apptainer or Singularity.
#
# Source: apptainer-pull(1); Apptainer User Guide, appendix, environment variables.

readonly PSL_IMAGE_SUFFIX='.sif' PSL_FETCHES_WITH=$PSL_CONTAINER_RUNTIME
readonly PSL_SILENT_FAILURE=transient PSL_PULL_ERROR='^FATAL: *(.*)'
readonly PSL_PERMANENT_ERRORS='unauthorized|access denied|manifest unknown|no image satisfies'

# fetch_by_runtime NEW REGISTRY REPOSITORY DIGEST: fetch an image as one file. Temporary files are
# beside the image, and are removed with it.
fetch_by_runtime() {
  local log=$1.log prefix=${PSL_CONTAINER_RUNTIME^^}
  if ! mkdir -p -- "$1.tmp"; then
    set_problem permanent "cannot write to $PSL_CACHE"
    return
  fi
  (
    unset "${prefix}_DOCKER_USERNAME" "${prefix}_DOCKER_PASSWORD"
    if [[ $PSL_LOGIN_USER ]]; then
      export "${prefix}_DOCKER_USERNAME=$PSL_LOGIN_USER"
      export "${prefix}_DOCKER_PASSWORD=$PSL_LOGIN_PASSWORD"
    fi
    if [[ ${PSL_CERTIFICATES-} ]]; then
      export SSL_CERT_FILE="$PSL_CERTIFICATES"
    fi
    export "${prefix}_TMPDIR=$1.tmp" "${prefix}_CACHEDIR=$1.tmp"
    "$PSL_CONTAINER_RUNTIME" pull --disable-cache "$1" "docker://$2/$3@$4"
  ) </dev/null >"$log" 2>&1 || set_pull_problem "$2/$3@$4" "$log"
}
