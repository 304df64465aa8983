# Podman, rootless. Images of registries are in its own store on each node, by their digests; others are folders, over
# which it lays an overlay. Source: podman-run(1) of Podman 4.3.

readonly RUNS_WITH=podman IMAGE_IS=-d

add_folders_of_runtime() { :; }

prepare_runtime() { refuse_odd_paths "${BINDS[@]}"; }

# enter_container ROOT: run the container of the task. Its user is root there, and the job's user outside.
# Podman passes TERM on by a process that it starts, which a TERM to the whole group would end first.
enter_container() {
  local root=$1 i device watch hold
  local -a store=("${IMAGE_OF[ROLE]}") options=(
    --rm --pull=never --log-driver=none --network=host --uts=host --cgroups=disabled --preserve-fds=1 --workdir=/ --entrypoint=bash
    --security-opt=label=disable --ulimit=host "--shm-size=${SHM_OF[ROLE]}m" "--env=HOME=/root" "--env=USER=$JOB_USER"
    "--volume=$root/hosts:/etc/hosts" "--volume=$CALLS:$CALLS"
  )
  [[ ${store[0]} != /* ]] || store=(--rootfs "${store[0]}:O")
  for ((i = 0; i < ${#BINDS[@]}; i += 2)); do options+=("--volume=${BINDS[i]}:${BINDS[i + 1]}"); done
  if ((ROLE_GPUS[ROLE])); then find_devices; for device in ${DEVICES[@]+"${DEVICES[@]}"}; do options+=("--device=$device"); done; fi
  [[ ! -d /dev/infiniband || ! ${INFINIBAND_OF[ROLE]-} ]] || options+=(--device=/dev/infiniband)
  rm -f -- "$root/pid"
  make_pipe && watch=$READ_END hold=$WRITE_END
  pass_term_to_podman "$root/pid" "$watch" {hold}>&- &
  # In the foreground, since bash can lose the status of a child that it waits for when a signal comes.
  trap ':' TERM
  # shellcheck disable=SC2016 # for the shell that becomes Podman
  bash -p -c 'printf "%s\n" "$$" >"$1" && exec setsid podman run "${@:2}"' bash "$root/pid" "${options[@]}" "${store[@]}" \
    "${INSIDE[@]:1}" {hold}>&- {watch}<&-
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
