# Podman, rootless. Images of registries are in its own store on each node, by their digests; others are folders, over
# which it lays an overlay. Source: podman-run(1), podman-pull(1), podman-image-exists(1) of Podman 4.3.

place_of_image() {
  printf '%s/%s@%s' "$1" "$2" "$3"
}

find_cache() {
  command -v podman >/dev/null || problem permanent "there is no podman on $SLURMD_NODENAME"
}

# fetch_image ROLE: Podman locks its own store.
fetch_image() {
  local registry repository log=$ATTEMPT_FOLDER/srun/pull-$1.$SLURMD_NODENAME.log
  read -r registry repository _ <<<"${REFERENCE_OF[$1]}"
  ! podman image exists "${IMAGE_OF[$1]}" 2>>"$log" || return 0
  fetch_to "$log" "$registry" "$repository" "${DIGEST_OF[$1]}"
}

# fetch_by_runtime LOG REGISTRY REPOSITORY DIGEST
fetch_by_runtime() {
  local -a options=(--quiet)
  local login='' status=0
  if [[ $LOGIN_USER ]]; then
    { login=$(mktemp "${TMPDIR:-/tmp}/paislurm.XXXXXX") && print_login "$2" >"$login"; } ||
      { problem transient "cannot write to ${TMPDIR:-/tmp} on $SLURMD_NODENAME"; return; }
    options+=("--authfile=$login")
  fi
  (
    [[ ! ${CERTIFICATES-} ]] || export SSL_CERT_FILE="$CERTIFICATES"
    podman pull "${options[@]}" "$2/$3@$4"
  ) </dev/null >>"$1" 2>&1 || status=$?
  [[ ! $login ]] || rm -f -- "$login"
  ((status == 0)) || pull_problem "$2/$3@$4" "$1"
}

# print_login REGISTRY: as containers-auth.json(5) has it.
print_login() {
  [[ ! $LOGIN_USER ]] || printf '{"auths": {"%s": {"auth": "%s"}}}' "$1" "$(printf '%s:%s' "$LOGIN_USER" "$LOGIN_PASSWORD" | base64 --wrap=0)"
}

# pull_problem IMAGE LOG: the image was there a moment ago, by what the registry says.
pull_problem() {
  local line last=''
  while IFS= read -r line; do
    [[ $line != *[Ee]rror* ]] || last=$line
  done <"$2"
  case $last in
    *unauthorized* | *'access denied'* | *'manifest unknown'* | *'no image found in manifest list'*) problem permanent "the image $1 cannot be fetched: $last" ;;
    *) problem transient "the image $1 cannot be fetched: ${last:-see $2}" ;;
  esac
}

prepare_runtime() {
  local image=${IMAGE_OF[ROLE]}
  is_there podman || return
  refuse_odd_paths || return
  [[ $image != /* || -d $image ]] || { say "error: the image $image is not on $SLURMD_NODENAME"; return 1; }
}

# enter_container ROOT INDEX ATTEMPT: run the container of the task. Its user is root there, and the job's user outside.
# Podman passes TERM on by a process that it starts, which a TERM to the whole group would end first.
enter_container() {
  local root=$1 i device watch hold
  local -a image=("${IMAGE_OF[ROLE]}") options=(
    --rm --pull=never --log-driver=none --network=host --uts=host --cgroups=disabled --preserve-fds=1 --workdir=/ --entrypoint=bash
    --security-opt=label=disable --ulimit=host "--shm-size=${SHM_OF[ROLE]}m" "--env=HOME=/root" "--env=USER=$PAI_USER_NAME"
    "--volume=$root/hosts:/etc/hosts" "--volume=$CALLS:$CALLS"
  )
  [[ ${image[0]} != /* ]] || image=(--rootfs "${image[0]}:O")
  for ((i = 0; i < ${#BINDS[@]}; i += 2)); do options+=("--volume=${BINDS[i]}:${BINDS[i + 1]}"); done
  if ((ROLE_GPUS[ROLE])); then find_devices; for device in ${DEVICES[@]+"${DEVICES[@]}"}; do options+=("--device=$device"); done; fi
  [[ ! -d /dev/infiniband || ! ${INFINIBAND_OF[ROLE]-} ]] || options+=(--device=/dev/infiniband)
  rm -f -- "$root/pid"
  make_pipe && watch=$READ_END hold=$WRITE_END
  pass_term_to_podman "$root/pid" "$watch" {hold}>&- &
  # In the foreground, since bash can lose the status of a child that it waits for when a signal comes.
  trap ':' TERM
  # shellcheck disable=SC2016 # for the shell that becomes Podman
  bash -c 'printf "%s\n" "$$" >"$1" && exec setsid podman run "${@:2}"' bash "$root/pid" "${options[@]}" "${image[@]}" \
    "$SCRIPT" --inside "$FOLDER" "$ATTEMPT" "$ROLE" "$SLOT" "$2" "$3" {hold}>&- {watch}<&-
}

# pass_term_to_podman FILE WATCH: to the process whose number is in the file, until nobody holds the other end of WATCH.
pass_term_to_podman() {
  local told='' pid
  trap 'told=1' TERM
  while read -r -t 1 _ <&"$2" || (($? > 128)); do
    [[ $told && -s $1 ]] || continue
    read -r pid <"$1" && kill -TERM "$pid" 2>/dev/null
    told=''
  done
}

# The GPUs that Slurm gave the task, in DEVICES: by NVIDIA's description of them with the libraries of the driver, where
# the node has one (CDI), else the devices alone; AMD's.
find_devices() {
  local gpu device
  local -a gpus
  DEVICES=()
  IFS=, read -ra gpus <<<"${CUDA_VISIBLE_DEVICES-}"
  for gpu in ${gpus[@]+"${gpus[@]}"}; do
    if [[ -e /etc/cdi/nvidia.yaml || -e /var/run/cdi/nvidia.yaml ]]; then DEVICES+=("nvidia.com/gpu=$gpu")
    elif [[ -e /dev/nvidia$gpu ]]; then DEVICES+=("/dev/nvidia$gpu"); fi
  done
  for device in /dev/nvidiactl /dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/kfd /dev/dri; do
    [[ ! -e $device ]] || DEVICES+=("$device")
  done
}
