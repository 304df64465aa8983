# Images for Charliecloud, as folders. Source: ch-image(1) of Charliecloud 0.31.

readonly PSL_IMAGE_SUFFIX='' PSL_FETCHES_WITH=ch-image PSL_SILENT_FAILURE=permanent
readonly PSL_PULL_ERROR='^error: (.*)' PSL_PERMANENT_ERRORS='^(unauthorized|requested arch unavailable|image is architecture-unaware)'

# fetch_by_runtime NEW REGISTRY REPOSITORY DIGEST: an image as a folder.
fetch_by_runtime() {
  local log=$1.log storage=$1.storage tool
  tool=$(type -P ch-image) || return
  # Nobody else's storage, and no build cache; credentials in the environment of this one process.
  (
    # It is written in Python, and takes the first on PATH, which may be the user's own.
    unset "${!CH_IMAGE_@}" PYTHONPATH PYTHONHOME
    PATH=${tool%/*}:/usr/local/bin:/usr/bin:/bin
    [[ ! $PSL_LOGIN_USER ]] ||
      export CH_IMAGE_AUTH=yes CH_IMAGE_USERNAME="$PSL_LOGIN_USER" CH_IMAGE_PASSWORD="$PSL_LOGIN_PASSWORD"
    if [[ ${PSL_CERTIFICATES-} ]]; then
      export REQUESTS_CA_BUNDLE="$PSL_CERTIFICATES"
    fi
    CH_IMAGE_CACHE=disabled "$tool" --storage "$storage" pull "$2/$3@$4"
  ) </dev/null >"$log" 2>&1 || { pull_problem "$2/$3@$4" "$log"; return; }
  mv -- "$storage/img/"* "$1"
}
