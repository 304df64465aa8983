# Images for Podman, in its own store on each node, by their digests.
# Source: podman-pull(1), podman-image-exists(1) of Podman 4.3, containers-auth.json(5).

readonly PSL_FETCHES_WITH=podman PSL_SILENT_FAILURE=transient
readonly PSL_PULL_ERROR='(.*[Ee]rror.*)' PSL_PERMANENT_ERRORS='unauthorized|access denied|manifest unknown|no image found in manifest list'

place_of_image() {
  printf '%s/%s@%s' "$1" "$2" "$3"
}

# Podman knows where its store is.
find_cache() { :; }

# fetch_image ROLE: Podman locks its own store.
fetch_image() {
  local registry repository log=$PSL_ATTEMPT_FOLDER/srun/pull-$1.$SLURMD_NODENAME.log
  read -r registry repository _ <<<"${PSL_REFERENCE_OF[$1]}"
  ! podman image exists "${PSL_IMAGE_OF[$1]}" 2>>"$log" || return 0
  fetch_to "$log" "$registry" "$repository" "${PSL_DIGEST_OF[$1]}"
}

# fetch_by_runtime LOG REGISTRY REPOSITORY DIGEST
fetch_by_runtime() {
  local -a options=(--quiet)
  local login='' status=0
  if [[ $PSL_LOGIN_USER ]]; then
    { login=$(mktemp "${TMPDIR:-/tmp}/paislurm.XXXXXX") && print_login "$2" >"$login"; } ||
      { problem transient "cannot write to ${TMPDIR:-/tmp} on $SLURMD_NODENAME"; return; }
    options+=("--authfile=$login")
  fi
  (
    if [[ ${PSL_CERTIFICATES-} ]]; then
      export SSL_CERT_FILE="$PSL_CERTIFICATES"
    fi
    podman pull "${options[@]}" "$2/$3@$4"
  ) </dev/null >>"$1" 2>&1 || status=$?
  if [[ $login ]]; then
    rm -f -- "$login"
  fi
  ((status == 0)) || pull_problem "$2/$3@$4" "$1"
}

# print_login REGISTRY: as containers-auth.json(5) has it.
print_login() {
  if [[ $PSL_LOGIN_USER ]]; then
    printf '{"auths": {"%s": {"auth": "%s"}}}' "$1" "$(printf '%s:%s' "$PSL_LOGIN_USER" "$PSL_LOGIN_PASSWORD" | base64 --wrap=0)"
  fi
}
