# Start containers with Podman, without root.
#
# Podman's store on each node contains images of registries, by digest. Other images are folders,
# over which Podman mounts an overlay. Source: podman-run(1) of Podman 4.3.

readonly PSL_RUNS_WITH=podman PSL_IMAGE_IS=-d

# add_folders_of_runtime ROOT: Podman needs no folders below the container's root.
add_folders_of_runtime() { :; }

# prepare_runtime ROOT: check the paths that the runtime mounts.
prepare_runtime() { refuse_odd_paths "${PSL_BINDS[@]}"; }

# enter_container ROOT: run the container of the task. Its user is root there, and the job's user
# outside.
enter_container() {
  local root=$1 i device
  local -a store=("${PSL_IMAGE_OF[PSL_ROLE]}") options=(
    --rm --pull=never --log-driver=none --network=host --uts=host --cgroups=disabled
    --preserve-fds=1 --workdir=/ --entrypoint=bash --security-opt=label=disable --ulimit=host
    "--shm-size=${PSL_SHM_OF[PSL_ROLE]}m" "--env=HOME=/root" "--env=USER=$PSL_JOB_USER"
    "--volume=$root/hosts:/etc/hosts" "--volume=$PSL_NODE_FOLDER:$PSL_NODE_FOLDER"
  )
  if [[ ${store[0]} == /* ]]; then
    store=(--rootfs "${store[0]}:O")
  fi
  for ((i = 0; i < ${#PSL_BINDS[@]}; i += 2)); do
    options+=("--volume=${PSL_BINDS[i]}:${PSL_BINDS[i + 1]}")
  done
  if ((PSL_ROLE_GPUS[PSL_ROLE])); then
    find_devices
    for device in ${PSL_DEVICES[@]+"${PSL_DEVICES[@]}"}; do
      options+=("--device=$device")
    done
  fi
  if [[ -d /dev/infiniband && ${PSL_INFINIBAND_OF[PSL_ROLE]-} ]]; then
    options+=(--device=/dev/infiniband)
  fi
  change_options_for_ranks "$root"  # only: contained-ranks
  run_podman "$root/pid" "${options[@]}" "${store[@]}" "${PSL_CONTAINER_COMMAND[@]:1}"
}

# run_podman FILE WORD ...: run a container in the foreground, and write Podman's process to a file.
# Podman forwards TERM through a child process, which a TERM to the whole group would end first. So
# Podman runs in a separate session, and pass_term_to_podman sends its TERM.
run_podman() {
  local watch hold
  rm -f -- "$1"
  make_pipe && watch=$PSL_READ_END hold=$PSL_WRITE_END
  pass_term_to_podman "$1" "$watch" {hold}>&- &
  # Bash can lose the status of a background child when a signal comes, so run this one in the
  # foreground.
  trap ':' TERM
  # shellcheck disable=SC2016 # for the shell that becomes Podman
  bash -p -c 'printf "%s\n" "$$" >"$1" && exec setsid podman run "${@:2}"' bash "$@" \
    {hold}>&- {watch}<&-
}

# pass_term_to_podman FILE WATCH: forward TERM to the process whose number is in the file, until the
# other end of WATCH is closed.
pass_term_to_podman() {
  local told='' pid
  trap 'told=1' TERM
  while read -r -t 1 _ <&"$2" || (($? > 128)); do
    [[ $told && -s $1 ]] || continue
    read -r pid <"$1" && kill -TERM "$pid" 2>/dev/null
    told=''
  done
}

# find_devices: put the task's GPUs into PSL_DEVICES. NVIDIA's description of the node's GPUs (CDI),
# if it exists, also mounts the driver's libraries. Otherwise, and for AMD, mount only the devices.
find_devices() {
  local gpu device
  local -a gpus
  PSL_DEVICES=()
  IFS=, read -ra gpus <<<"${CUDA_VISIBLE_DEVICES-}"
  for gpu in ${gpus[@]+"${gpus[@]}"}; do
    if [[ -e /etc/cdi/nvidia.yaml || -e /var/run/cdi/nvidia.yaml ]]; then
      PSL_DEVICES+=("nvidia.com/gpu=$gpu")
    elif [[ -e /dev/nvidia$gpu ]]; then
      PSL_DEVICES+=("/dev/nvidia$gpu")
    fi
  done
  for device in /dev/nvidiactl /dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/kfd /dev/dri; do
    if [[ -e $device ]]; then
      PSL_DEVICES+=("$device")
    fi
  done
}
