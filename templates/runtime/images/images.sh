# Images from registries: before any task begins, each is fetched, once for all nodes or once for each. An image is known by
# the digest that its tag has when the job begins: a tag that moves changes no job that runs.

DIGEST_OF=()

# Before the tasks, on the batch node.
stage_images() {
  local component word role digest rest kind='' UNANSWERED=()
  [[ ${FETCHES_IMAGES-} ]] || return 0
  attend print_digests >"$SCRATCH/images"
  while read -r word role digest rest; do
    case $word in
      image) IMAGE_OF[role]=$rest DIGEST_OF[role]=$digest ;;
      problem) give_up "$digest $rest" 254 "$role" ;;
    esac
  done <"$SCRATCH/images"
  for role in "${!REFERENCE_OF[@]}"; do
    [[ ${IMAGE_OF[role]-} ]] || give_up "the image ${REFERENCE_OF[role]} could not be asked for"
    quote "${IMAGE_OF[role]}"
    printf 'IMAGE_OF[%d]=%s DIGEST_OF[%d]=%s\n' "$role" "$QUOTED" "$role" "${DIGEST_OF[role]}"
  done >>placement.sh
  if ((!CACHE_SHARED)); then
    ask_nodes image "${EVERY_COMPONENT[@]}"
  elif ! all_images_are_there; then
    NODES_ASKED=1 ask_nodes image 0
  fi
  for component in ${UNANSWERED[@]+"${UNANSWERED[@]}"}; do
    while read -r word role rest; do
      [[ $word != problem || $kind == permanent ]] || kind=$role PROBLEM=$rest
    done <"$SCRATCH/image.$component"
    [[ $kind ]] || give_up "the images could not be fetched: see srun/image-$component.log"
  done
  [[ ! $kind ]] || give_up "$PROBLEM" 254 "$kind"
}

all_images_are_there() {
  local role
  for role in "${!REFERENCE_OF[@]}"; do
    [[ -e ${IMAGE_OF[role]} ]] || return 1
    touch -- "${IMAGE_OF[role]}.lock"
  done
}

# One line for each role: image ROLE DIGEST PATH, or a problem.
print_digests() {
  local role registry repository version
  local -A known=()
  find_cache || { printf 'problem %s %s\n' "$KIND" "$PROBLEM"; return; }
  for role in "${!REFERENCE_OF[@]}"; do
    read -r registry repository version <<<"${REFERENCE_OF[role]}"
    if [[ ! ${known[${REFERENCE_OF[role]}]-} ]]; then
      resolve_image "$registry" "$repository" "$version" || { printf 'problem %s %s\n' "$KIND" "$PROBLEM"; return; }
      known[${REFERENCE_OF[role]}]=$DIGEST
    fi
    DIGEST=${known[${REFERENCE_OF[role]}]}
    printf 'image %s %s %s\n' "$role" "$DIGEST" "$(place_of_image "$registry" "$repository" "$DIGEST")"
  done
}

# fetch_images_main: on a node, those that its tasks need, or all where nodes share them.
fetch_images_main() {
  local role
  find_cache || { printf 'problem %s %s\n' "$KIND" "$PROBLEM"; return 1; }
  for role in "${!REFERENCE_OF[@]}"; do
    ((CACHE_SHARED)) || [[ " ${NODES_OF[role]} " == *" $SLURMD_NODENAME "* ]] || continue
    fetch_image "$role" && continue
    printf 'problem %s %s\n' "$KIND" "$PROBLEM"
    return 1
  done
}

# pull_problem IMAGE LOG: by the last error in the log, which is what PULL_ERROR finds; where that is HOPELESS, no retry helps.
# The image was there a moment ago, by what the registry says.
pull_problem() {
  local line last=''
  while IFS= read -r line; do
    say "$FETCHES_WITH: $line"
    [[ ! $line =~ $PULL_ERROR ]] || last=${BASH_REMATCH[1]}
  done <"$2"
  [[ $last ]] || { problem "$SILENT_FAILURE" "$FETCHES_WITH on $SLURMD_NODENAME cannot fetch the image $1: see srun/image-*.log"; return; }
  if [[ $last =~ $HOPELESS ]]; then line=permanent; else line=transient; fi
  problem "$line" "the image $1 cannot be fetched: $last"
}

# fetch_to PLACE REGISTRY REPOSITORY DIGEST: by the runtime's own means, again if a retry may help.
fetch_to() {
  local pause
  hash "$FETCHES_WITH" 2>/dev/null ||
    { problem permanent "there is no $FETCHES_WITH on $SLURMD_NODENAME, which fetches images"; return; }
  find_login "$2" || return
  for pause in $REGISTRY_PAUSES ''; do
    fetch_by_runtime "$@" && return
    [[ $KIND == transient && $pause ]] || return
    remove_trees "$1"*
    sleep "$pause"
  done
}
