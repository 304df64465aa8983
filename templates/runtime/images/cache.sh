# Keep fetched images in a cache, one entry for each digest.
#
# An entry is a file or a folder, created by one rename, so it is always complete. A lock beside it
# prevents two processes from fetching the same image. The time of the lock is that of the last use.

PSL_CACHE=''

# place_of_image REGISTRY REPOSITORY DIGEST: print the path of the fetched image.
place_of_image() {
  printf '%s/%s@%s%s' "$PSL_CACHE" "${2//\//%}" "${3#sha256:}" "$PSL_IMAGE_SUFFIX"
}

# find_cache: set PSL_CACHE to the user's folder in the cache. The folder is private: no other user
# may read or write there.
find_cache() {
  local why
  case $PSL_IMAGE_CACHE in
    /*)
      PSL_CACHE=$PSL_IMAGE_CACHE/$(id -un)
      mkdir -m 0700 -- "$PSL_CACHE"
      ;;
    *)
      PSL_CACHE=$HOME${PSL_IMAGE_CACHE#?}
      make_private "$PSL_CACHE"
      ;;
  esac 2>/dev/null
  if ! why=$(replaceable "$PSL_CACHE"); then
    is_private "$PSL_CACHE" && [[ -d $PSL_CACHE && -w $PSL_CACHE ]] && return
    why="not a folder of the user's own, to which no other user can write"
  fi
  set_problem permanent "images cannot be kept in $PSL_CACHE on $SLURMD_NODENAME: $why"
}

# remove_remains IMAGE: remove the files of interrupted fetches. Keep files of the last half day,
# because another node may not see the lock of a fetch.
remove_remains() {
  local tree old=$1.new.$PSL_RUN_ID.$SLURMD_NODENAME.old
  touch --date='12 hours ago' -- "$old"
  for tree in "$1.new."*; do
    if [[ $tree -ot $old ]]; then
      remove_trees "$tree"
    fi
  done
  rm -f -- "$old"
}

# fetch_image ROLE: fetch the image of a role into the cache, unless it exists. The kernel releases
# the lock at any end of the process.
fetch_image() {
  local image=${PSL_IMAGE_OF[$1]} lock
  if ! touch -- "$image.lock" || ! exec {lock}>>"$image.lock"; then
    set_problem permanent "images cannot be kept in $PSL_CACHE on $SLURMD_NODENAME"
    return
  fi
  # On a file system without locks two processes may fetch the same image. The first rename wins.
  flock "$lock"
  if [[ ! -e $image ]] && ! fetch_new_image "$1"; then
    exec {lock}>&-
    return 1
  fi
  exec {lock}>&-
  [[ -e $image ]] || return
  is_private "$image" ||
    set_problem permanent "the image $image could have been changed by another user: remove it"
}

# fetch_new_image ROLE: fetch an image under another name, and rename it.
fetch_new_image() {
  local image=${PSL_IMAGE_OF[$1]} registry repository new
  read -r registry repository _ <<<"${PSL_REFERENCE_OF[$1]}"
  new=$image.new.$PSL_RUN_ID.$SLURMD_NODENAME
  remove_remains "$image"
  if ! fetch_with_retries "$new" "$registry" "$repository" "${PSL_DIGEST_OF[$1]}"; then
    remove_trees "$new"*
    return 1
  fi
  # An image may bring its own mode, and a default ACL replaces the umask.
  chmod go-w -- "$new"
  mv -T -- "$new" "$image" 2>/dev/null || [[ -e $image ]] ||
    set_problem permanent "images cannot be kept in $PSL_CACHE on $SLURMD_NODENAME"
  remove_trees "$new"*
  return 0
}
