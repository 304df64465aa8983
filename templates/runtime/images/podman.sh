# Fetch images with Podman, into its own store on each node.
#
# Podman keeps images by their digests.
# Source: podman-pull(1), podman-image-exists(1) of Podman 4.3, containers-auth.json(5).

readonly PSL_FETCHES_WITH=podman PSL_SILENT_FAILURE=transient PSL_PULL_ERROR='(.*[Ee]rror.*)'
readonly PSL_PERMANENT_ERRORS='unauthorized|access denied|manifest unknown|'\
'no image found in manifest list'

# place_of_image REGISTRY REPOSITORY DIGEST: print the name of an image in the store.
place_of_image() {
  printf '%s/%s@%s' "$1" "$2" "$3"
}

# find_cache: do nothing, because Podman finds its store.
find_cache() { :; }

# fetch_image ROLE: fetch the image of a role, unless it exists. Podman locks its store.
fetch_image() {
  local registry repository log=$PSL_ATTEMPT_FOLDER/srun/pull-$1.$SLURMD_NODENAME.log
  read -r registry repository _ <<<"${PSL_REFERENCE_OF[$1]}"
  if podman image exists "${PSL_IMAGE_OF[$1]}" 2>>"$log"; then
    return 0
  fi
  fetch_with_retries "$log" "$registry" "$repository" "${PSL_DIGEST_OF[$1]}"
}

# fetch_by_runtime LOG REGISTRY REPOSITORY DIGEST: fetch an image into the store.
fetch_by_runtime() {
  local -a options=(--quiet)
  local login='' status=0 folder
  if [[ $PSL_LOGIN_USER ]]; then
    folder=$(temporary_folder)
    if ! login=$(mktemp "$folder/paislurm.XXXXXX") || ! print_login "$2" >"$login"; then
      set_problem transient "cannot write to $folder on $SLURMD_NODENAME"
      return
    fi
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
  ((status == 0)) || set_pull_problem "$2/$3@$4" "$1"
}

# print_login REGISTRY: print the credentials in the form of containers-auth.json(5).
print_login() {
  local words
  if [[ $PSL_LOGIN_USER ]]; then
    words=$(printf '%s:%s' "$PSL_LOGIN_USER" "$PSL_LOGIN_PASSWORD" | base64 --wrap=0)
    printf '{"auths": {"%s": {"auth": "%s"}}}' "$1" "$words"
  fi
}
