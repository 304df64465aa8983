# Images for Apptainer and Singularity. Source: apptainer-pull(1); Apptainer User Guide, appendix, environment variables.

readonly IMAGE_SUFFIX='.sif' FETCHES_WITH=$CONTAINER_RUNTIME SILENT_FAILURE=transient
readonly PULL_ERROR='^FATAL: *(.*)' HOPELESS='unauthorized|access denied|manifest unknown|no image satisfies'

# fetch_by_runtime NEW REGISTRY REPOSITORY DIGEST: as one file. All that is on the way is beside it, and goes with it.
fetch_by_runtime() {
  local log=$1.log prefix=${CONTAINER_RUNTIME^^}
  mkdir -p -- "$1.tmp" || { problem permanent "cannot write to $CACHE"; return; }
  (
    unset "${prefix}_DOCKER_USERNAME" "${prefix}_DOCKER_PASSWORD"
    [[ ! $LOGIN_USER ]] || export "${prefix}_DOCKER_USERNAME=$LOGIN_USER" "${prefix}_DOCKER_PASSWORD=$LOGIN_PASSWORD"
    [[ ! ${CERTIFICATES-} ]] || export SSL_CERT_FILE="$CERTIFICATES"
    export "${prefix}_TMPDIR=$1.tmp" "${prefix}_CACHEDIR=$1.tmp"
    "$CONTAINER_RUNTIME" pull --disable-cache "$1" "docker://$2/$3@$4"
  ) </dev/null >"$log" 2>&1 || pull_problem "$2/$3@$4" "$log"
}
