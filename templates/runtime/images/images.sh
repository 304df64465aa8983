# Images from registries: before any task begins, each is fetched, once for all nodes or once for each. An image is known by
# the digest that its tag has when the job begins: a tag that moves changes no job that runs.

PSL_DIGEST_OF=()

# Before the tasks, on the batch node.
stage_images() {
  local component word role digest rest kind='' PSL_FAILED_COMPONENTS=()
  run_interruptibly print_digests >"$PSL_SCRATCH/images"
  while read -r word role digest rest; do
    case $word in
      image) PSL_IMAGE_OF[role]=$rest PSL_DIGEST_OF[role]=$digest ;;
      problem) die "$digest $rest" 254 "$role" ;;
    esac
  done <"$PSL_SCRATCH/images"
  for role in "${!PSL_REFERENCE_OF[@]}"; do
    [[ ${PSL_IMAGE_OF[role]-} ]] || die "the image ${PSL_REFERENCE_OF[role]} could not be asked for"
    quote "${PSL_IMAGE_OF[role]}"
    printf 'PSL_IMAGE_OF[%d]=%s PSL_DIGEST_OF[%d]=%s\n' "$role" "$PSL_QUOTED" "$role" "${PSL_DIGEST_OF[role]}"
  done >>placement.sh
  if ((!PSL_CACHE_SHARED)); then
    ask_nodes image "${PSL_EVERY_COMPONENT[@]}"
  elif ! all_images_are_there; then
    PSL_NODES_ASKED=1 ask_nodes image 0
  fi
  for component in ${PSL_FAILED_COMPONENTS[@]+"${PSL_FAILED_COMPONENTS[@]}"}; do
    while read -r word role rest; do
      [[ $word != problem || $kind == permanent ]] || kind=$role PSL_PROBLEM=$rest
    done <"$PSL_SCRATCH/image.$component"
    [[ $kind ]] || die "the images could not be fetched: see srun/image-$component.log"
  done
  if [[ $kind ]]; then
    die "$PSL_PROBLEM" 254 "$kind"
  fi
}

all_images_are_there() {
  local role
  for role in "${!PSL_REFERENCE_OF[@]}"; do
    [[ -e ${PSL_IMAGE_OF[role]} ]] || return 1
    touch -- "${PSL_IMAGE_OF[role]}.lock"
  done
}

# One line for each role: image ROLE DIGEST PATH, or a problem.
print_digests() {
  local role registry repository version
  local -A known=()
  find_cache || { printf 'problem %s %s\n' "$PSL_KIND" "$PSL_PROBLEM"; return; }
  for role in "${!PSL_REFERENCE_OF[@]}"; do
    read -r registry repository version <<<"${PSL_REFERENCE_OF[role]}"
    if [[ ! ${known[${PSL_REFERENCE_OF[role]}]-} ]]; then
      resolve_image "$registry" "$repository" "$version" || { printf 'problem %s %s\n' "$PSL_KIND" "$PSL_PROBLEM"; return; }
      known[${PSL_REFERENCE_OF[role]}]=$PSL_DIGEST
    fi
    PSL_DIGEST=${known[${PSL_REFERENCE_OF[role]}]}
    printf 'image %s %s %s\n' "$role" "$PSL_DIGEST" "$(place_of_image "$registry" "$repository" "$PSL_DIGEST")"
  done
}

# fetch_images_main: on a node, those that its tasks need, or all where nodes share them.
fetch_images_main() {
  local role
  find_cache || { printf 'problem %s %s\n' "$PSL_KIND" "$PSL_PROBLEM"; return 1; }
  for role in "${!PSL_REFERENCE_OF[@]}"; do
    ((PSL_CACHE_SHARED)) || [[ " ${PSL_NODES_OF[role]} " == *" $SLURMD_NODENAME "* ]] || continue
    fetch_image "$role" && continue
    printf 'problem %s %s\n' "$PSL_KIND" "$PSL_PROBLEM"
    return 1
  done
}

# pull_problem IMAGE LOG: by the last error in the log, which is what PSL_PULL_ERROR finds; where that is PSL_PERMANENT_ERRORS, no retry helps.
# The image was there a moment ago, by what the registry says.
pull_problem() {
  local line last=''
  while IFS= read -r line; do
    log "$PSL_FETCHES_WITH: $line"
    if [[ $line =~ $PSL_PULL_ERROR ]]; then
      last=${BASH_REMATCH[1]}
    fi
  done <"$2"
  [[ $last ]] || { problem "$PSL_SILENT_FAILURE" "$PSL_FETCHES_WITH on $SLURMD_NODENAME cannot fetch the image $1: see srun/image-*.log"; return; }
  if [[ $last =~ $PSL_PERMANENT_ERRORS ]]; then line=permanent; else line=transient; fi
  problem "$line" "the image $1 cannot be fetched: $last"
}

# fetch_to PLACE REGISTRY REPOSITORY DIGEST: by the runtime's own means, again if a retry may help.
fetch_to() {
  local pause
  hash "$PSL_FETCHES_WITH" 2>/dev/null ||
    { problem permanent "there is no $PSL_FETCHES_WITH on $SLURMD_NODENAME, which fetches images"; return; }
  find_login "$2" || return
  for pause in $PSL_REGISTRY_PAUSES ''; do
    fetch_by_runtime "$@" && return
    [[ $PSL_KIND == transient && $pause ]] || return
    remove_trees "$1"*
    sleep "$pause"
  done
}
