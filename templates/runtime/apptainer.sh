# Apptainer and Singularity: a .sif file, a .sqsh file or a folder. Source: apptainer-exec(1), apptainer-pull(1); Apptainer
# User Guide, "Environment and Metadata", "Persistent Overlays", "GPU Support" and appendix, environment variables.

readonly IMAGE_SUFFIX='.sif'

# fetch_by_runtime NEW REGISTRY REPOSITORY DIGEST: as one file. All that is on the way is beside it, and goes with it.
fetch_by_runtime() {
  local log=$1.log prefix=${CONTAINER_RUNTIME^^}
  command -v "$CONTAINER_RUNTIME" >/dev/null ||
    { problem permanent "there is no $CONTAINER_RUNTIME on $SLURMD_NODENAME, which fetches images"; return; }
  mkdir -p -- "$1.tmp" || { problem permanent "cannot write to $CACHE"; return; }
  (
    unset "${prefix}_DOCKER_USERNAME" "${prefix}_DOCKER_PASSWORD"
    [[ ! $LOGIN_USER ]] || export "${prefix}_DOCKER_USERNAME=$LOGIN_USER" "${prefix}_DOCKER_PASSWORD=$LOGIN_PASSWORD"
    [[ ! ${CERTIFICATES-} ]] || export SSL_CERT_FILE="$CERTIFICATES"
    export "${prefix}_TMPDIR=$1.tmp" "${prefix}_CACHEDIR=$1.tmp"
    "$CONTAINER_RUNTIME" pull --disable-cache "$1" "docker://$2/$3@$4"
  ) </dev/null >"$log" 2>&1 || pull_problem "$2/$3@$4" "$log"
}

# pull_problem IMAGE LOG: the image was there a moment ago, by what the registry says.
pull_problem() {
  local line last=''
  while IFS= read -r line; do
    say "$CONTAINER_RUNTIME: $line"
    [[ $line != FATAL:* ]] || last=${line#FATAL:}
  done <"$2"
  case $last in
    *unauthorized* | *'access denied'* | *'manifest unknown'* | *'no image satisfies'*) problem permanent "the image $1 cannot be fetched:$last" ;;
    *) problem transient "the image $1 cannot be fetched: ${last:-see srun/image-*.log}" ;;
  esac
}

prepare_runtime() {
  local image=${IMAGE_OF[ROLE]}
  is_there "$CONTAINER_RUNTIME" || return
  refuse_odd_paths || return
  [[ -e $image ]] || { say "error: the image $image is not on $SLURMD_NODENAME"; return 1; }
  mkdir -p -- "$1/overlay"
}

# enter_container ROOT INDEX ATTEMPT: become the container of the task.
enter_container() {
  local root=$1 i
  local -a options=(
    --cleanenv --no-home --no-mount=tmp --no-mount=cwd --pwd=/ "--bind=$root/tmp:/tmp" "--bind=$CALLS:$CALLS" "--bind=$root/hosts:/etc/hosts"
  )
  # Only the older of the two has no overlay for users without rights of their own.
  if [[ $CONTAINER_RUNTIME == apptainer ]]; then options+=("--overlay=$root/overlay"); else options+=(--writable-tmpfs); fi
  for ((i = 0; i < ${#BINDS[@]}; i += 2)); do options+=("--bind=${BINDS[i]}:${BINDS[i + 1]}"); done
  if ((ROLE_GPUS[ROLE])); then
    [[ ! -e /dev/nvidiactl ]] || options+=(--nv)
    [[ ! -e /dev/kfd ]] || options+=(--rocm)
  fi
  exec "$CONTAINER_RUNTIME" --silent exec "${options[@]}" "${IMAGE_OF[ROLE]}" \
    bash "$SCRIPT" --inside "$FOLDER" "$ATTEMPT" "$ROLE" "$SLOT" "$2" "$3"
}
