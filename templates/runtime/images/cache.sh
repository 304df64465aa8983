# A cache of images as files or folders: an entry for each digest.
#
# An entry comes into being by one rename, so that it is whole; the lock beside it saves work, and the time of the lock is
# that of the last use.

PSL_CACHE=''

# place_of_image REGISTRY REPOSITORY DIGEST: what an image is called once it is fetched.
place_of_image() {
  printf '%s/%s@%s%s' "$PSL_CACHE" "${2//\//%}" "${3#sha256:}" "$PSL_IMAGE_SUFFIX"
}

# The user's own folder of the cache, in CACHE: nobody else reads there what only this user may have, or writes there.
find_cache() {
  case $PSL_IMAGE_CACHE in
    /*) PSL_CACHE=$PSL_IMAGE_CACHE/$(id -un) && mkdir -- "$PSL_CACHE" ;;
    *) PSL_CACHE=$HOME${PSL_IMAGE_CACHE#?} && mkdir -p -- "$PSL_CACHE" ;;
  esac 2>/dev/null
  [[ -d $PSL_CACHE && ! -L $PSL_CACHE && -O $PSL_CACHE && -w $PSL_CACHE ]] ||
    problem permanent "images cannot be kept in $PSL_CACHE: it is not the user's own on $SLURMD_NODENAME"
}

# remove_remains IMAGE: of fetches that were cut short. Half a day old, since a lock may not be seen by other nodes.
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

# fetch_image ROLE: into the cache, unless it is there. A lock is let go with the process that had it, however that ends.
fetch_image() {
  local image=${PSL_IMAGE_OF[$1]} registry repository lock new
  read -r registry repository _ <<<"${PSL_REFERENCE_OF[$1]}"
  { touch -- "$image.lock" && exec {lock}>>"$image.lock"; } ||
    { problem permanent "images cannot be kept in $PSL_CACHE on $SLURMD_NODENAME"; return; }
  new=$image.new.$PSL_RUN_ID.$SLURMD_NODENAME
  # Without locks on this file system two may fetch the same, and the first rename counts.
  flock "$lock"
  if [[ ! -e $image ]]; then
    remove_remains "$image"
    fetch_to "$new" "$registry" "$repository" "${PSL_DIGEST_OF[$1]}" || { remove_trees "$new"*; exec {lock}>&-; return 1; }
    mv -T -- "$new" "$image" 2>/dev/null || [[ -e $image ]] ||
      problem permanent "images cannot be kept in $PSL_CACHE on $SLURMD_NODENAME"
    remove_trees "$new"*
  fi
  exec {lock}>&-
  [[ -e $image ]]
}
