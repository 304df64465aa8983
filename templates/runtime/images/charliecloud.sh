# Fetch images for Charliecloud, with ch-image.
#
# Source: ch-image(1) of Charliecloud 0.31.

readonly PSL_IMAGE_SUFFIX='' PSL_FETCHES_WITH=ch-image
readonly PSL_SILENT_FAILURE=permanent PSL_PULL_ERROR='^error: (.*)'
readonly PSL_PERMANENT_ERRORS='^(unauthorized|requested arch unavailable|'\
'image is architecture-unaware)'

# fetch_by_runtime NEW REGISTRY REPOSITORY DIGEST: fetch an image as a folder.
fetch_by_runtime() {
  local log=$1.log storage=$1.storage tool
  tool=$(type -P ch-image) || return
  # Use a private storage and no build cache, and put the credentials into the environment of only
  # this process.
  if ! (
    # ch-image runs with the first Python on PATH, which may be the user's.
    unset "${!CH_IMAGE_@}" PYTHONPATH PYTHONHOME
    PATH=${tool%/*}:/usr/local/bin:/usr/bin:/bin
    if [[ $PSL_LOGIN_USER ]]; then
      export CH_IMAGE_AUTH=yes
      export CH_IMAGE_USERNAME="$PSL_LOGIN_USER" CH_IMAGE_PASSWORD="$PSL_LOGIN_PASSWORD"
    fi
    if [[ ${PSL_CERTIFICATES-} ]]; then
      export REQUESTS_CA_BUNDLE="$PSL_CERTIFICATES"
    fi
    CH_IMAGE_CACHE=disabled "$tool" --storage "$storage" pull "$2/$3@$4"
  ) </dev/null >"$log" 2>&1; then
    set_pull_problem "$2/$3@$4" "$log"
    return
  fi
  mv -- "$storage/img/"* "$1"
}
