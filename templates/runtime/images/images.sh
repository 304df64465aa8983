# Fetch images from registries before any task begins.
#
# Each image is fetched once for all nodes, or once for each node. An image is identified by the
# digest of its tag when the job starts, so a later move of the tag does not change a running job.

PSL_DIGEST_OF=()

# stage_images: on the batch node, find the digests of all images, and let the nodes fetch the
# images.
stage_images() {
  local PSL_FAILED_COMPONENTS=()
  run_interruptibly print_digests >"$PSL_SCRATCH/images"
  read_digests "$PSL_SCRATCH/images"
  print_image_settings >>placement.sh
  if ((!PSL_CACHE_SHARED)); then
    ask_nodes image "${PSL_EVERY_COMPONENT[@]}"
  elif ! all_images_are_there; then
    PSL_NODES_ASKED=1 ask_nodes image 0
  fi
  check_fetches
}

# print_digests: print a line for each role, image ROLE DIGEST PATH, or else a problem.
print_digests() {
  local role registry repository version
  local -A known=()
  if ! find_cache; then
    print_problem
    return
  fi
  for role in "${!PSL_REFERENCE_OF[@]}"; do
    read -r registry repository version <<<"${PSL_REFERENCE_OF[role]}"
    if [[ ! ${known[${PSL_REFERENCE_OF[role]}]-} ]]; then
      if ! resolve_image "$registry" "$repository" "$version"; then
        print_problem
        return
      fi
      known[${PSL_REFERENCE_OF[role]}]=$PSL_DIGEST
    fi
    PSL_DIGEST=${known[${PSL_REFERENCE_OF[role]}]}
    printf 'image %s %s %s\n' \
      "$role" "$PSL_DIGEST" "$(place_of_image "$registry" "$repository" "$PSL_DIGEST")"
  done
}

# print_problem: print the problem from set_problem, with its kind.
print_problem() { printf 'problem %s %s\n' "$PSL_KIND" "$PSL_PROBLEM"; }

# read_digests FILE: fill PSL_DIGEST_OF and PSL_IMAGE_OF from the output of print_digests. End the
# job if the file contains a problem or lacks an image.
read_digests() {
  local word role digest rest
  while read -r word role digest rest; do
    case $word in
      image) PSL_IMAGE_OF[role]=$rest PSL_DIGEST_OF[role]=$digest ;;
      problem) die "$digest $rest" 254 "$role" ;;
    esac
  done <"$1"
  for role in "${!PSL_REFERENCE_OF[@]}"; do
    [[ ${PSL_IMAGE_OF[role]-} ]] ||
      die "the registry was not queried for the image ${PSL_REFERENCE_OF[role]}"
  done
}

# print_image_settings: print the settings that identify the images for nodes and tasks.
print_image_settings() {
  local role
  for role in "${!PSL_REFERENCE_OF[@]}"; do
    quote "${PSL_IMAGE_OF[role]}"
    printf 'PSL_IMAGE_OF[%d]=%s PSL_DIGEST_OF[%d]=%s\n' \
      "$role" "$PSL_QUOTED" "$role" "${PSL_DIGEST_OF[role]}"
  done
}

# all_images_are_there: succeed if the shared cache has all images, and record their use.
all_images_are_there() {
  local role
  for role in "${!PSL_REFERENCE_OF[@]}"; do
    is_private "${PSL_IMAGE_OF[role]}" || return 1
    touch -- "${PSL_IMAGE_OF[role]}.lock"
  done
}

# is_private PATH: succeed if the user owns a file or folder that is no link, and no other user can
# write to it.
is_private() { is_own_folder "$1" && ((!(8#$(stat -c %a -- "$1") & 8#22))); }

# check_fetches: end the job with the problem of a node that could not fetch an image. A permanent
# problem of one node takes precedence over transient ones of others.
check_fetches() {
  local component word problem_kind rest kind=''
  for component in ${PSL_FAILED_COMPONENTS[@]+"${PSL_FAILED_COMPONENTS[@]}"}; do
    while read -r word problem_kind rest; do
      if [[ $word == problem && $kind != permanent ]]; then
        kind=$problem_kind PSL_PROBLEM=$rest
      fi
    done <"$PSL_SCRATCH/image.$component"
    [[ $kind ]] || die "the images could not be fetched: see srun/image-$component.log"
  done
  if [[ $kind ]]; then
    die "$PSL_PROBLEM" 254 "$kind"
  fi
}

# fetch_images_main: on a node, fetch the images of its tasks, or all images for a shared cache.
fetch_images_main() {
  local role
  if ! find_cache; then
    print_problem
    return 1
  fi
  for role in "${!PSL_REFERENCE_OF[@]}"; do
    if ((!PSL_CACHE_SHARED)) && [[ " ${PSL_NODES_OF[role]} " != *" $SLURMD_NODENAME "* ]]; then
      continue
    fi
    if ! fetch_image "$role"; then
      print_problem
      return 1
    fi
  done
}

# fetch_with_retries PLACE REGISTRY REPOSITORY DIGEST: fetch an image with the container runtime,
# and retry after transient problems. The files of a failed try have names that begin with PLACE.
fetch_with_retries() {
  local pause
  if ! hash "$PSL_FETCHES_WITH" 2>/dev/null; then
    set_problem permanent \
      "there is no $PSL_FETCHES_WITH on $SLURMD_NODENAME, which fetches images"
    return
  fi
  find_login "$2" || return
  for pause in $PSL_REGISTRY_PAUSES ''; do
    if fetch_by_runtime "$@"; then
      return 0
    fi
    [[ $PSL_KIND == transient && $pause ]] || return
    remove_trees "$1"*
    sleep "$pause"
  done
}

# set_pull_problem IMAGE LOG: set the problem of a failed fetch from the last error in the log.
# PSL_PULL_ERROR matches errors there. An error that matches PSL_PERMANENT_ERRORS is permanent. The
# registry has just confirmed the image, so a log without an error gets a separate kind.
set_pull_problem() {
  local line kind=transient last=''
  while IFS= read -r line; do
    log "$PSL_FETCHES_WITH: $line"
    if [[ $line =~ $PSL_PULL_ERROR ]]; then
      last=${BASH_REMATCH[1]}
    fi
  done <"$2"
  if [[ ! $last ]]; then
    set_problem "$PSL_SILENT_FAILURE" "$PSL_FETCHES_WITH on $SLURMD_NODENAME" \
      "cannot fetch the image $1: see srun/image-*.log"
    return
  fi
  if [[ $last =~ $PSL_PERMANENT_ERRORS ]]; then
    kind=permanent
  fi
  set_problem "$kind" "the image $1 cannot be fetched: $last"
}
