# Podman, rootless. Images of registries are in its own store on each node, by their digests; others are folders, over
# which it lays an overlay. Source: podman-run(1) of Podman 4.3.

readonly PSL_RUNS_WITH=podman PSL_IMAGE_IS=-d

add_folders_of_runtime() { :; }

prepare_runtime() { refuse_odd_paths "${PSL_BINDS[@]}"; }

# enter_container ROOT: run the container of the task. Its user is root there, and the job's user outside.
# Podman passes TERM on by a process that it starts, which a TERM to the whole group would end first.
enter_container() {
  local root=$1 i device watch hold
  local -a store=("${PSL_IMAGE_OF[PSL_ROLE]}") options=(
    --rm --pull=never --log-driver=none --network=host --uts=host --cgroups=disabled --preserve-fds=1 --workdir=/ --entrypoint=bash
    --security-opt=label=disable --ulimit=host "--shm-size=${PSL_SHM_OF[PSL_ROLE]}m" "--env=HOME=/root" "--env=USER=$PSL_JOB_USER"
    "--volume=$root/hosts:/etc/hosts" "--volume=$PSL_NODE_FOLDER:$PSL_NODE_FOLDER"
  )
  if [[ ${store[0]} == /* ]]; then
    store=(--rootfs "${store[0]}:O")
  fi
  for ((i = 0; i < ${#PSL_BINDS[@]}; i += 2)); do options+=("--volume=${PSL_BINDS[i]}:${PSL_BINDS[i + 1]}"); done
  if ((PSL_ROLE_GPUS[PSL_ROLE])); then find_devices; for device in ${PSL_DEVICES[@]+"${PSL_DEVICES[@]}"}; do options+=("--device=$device"); done; fi
  [[ ! -d /dev/infiniband || ! ${PSL_INFINIBAND_OF[PSL_ROLE]-} ]] || options+=(--device=/dev/infiniband)
  rm -f -- "$root/pid"
  make_pipe && watch=$PSL_READ_END hold=$PSL_WRITE_END
  pass_term_to_podman "$root/pid" "$watch" {hold}>&- &
  # In the foreground, since bash can lose the status of a child that it waits for when a signal comes.
  trap ':' TERM
  # shellcheck disable=SC2016 # for the shell that becomes Podman
  bash -p -c 'printf "%s\n" "$$" >"$1" && exec setsid podman run "${@:2}"' bash "$root/pid" "${options[@]}" "${store[@]}" \
    "${PSL_CONTAINER_COMMAND[@]:1}" {hold}>&- {watch}<&-
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

# The GPUs that Slurm gave the task, in PSL_DEVICES: by NVIDIA's description of them with the libraries of the driver, where
# the node has one (CDI), else the devices alone; AMD's.
find_devices() {
  local gpu device
  local -a gpus
  PSL_DEVICES=()
  IFS=, read -ra gpus <<<"${CUDA_VISIBLE_DEVICES-}"
  for gpu in ${gpus[@]+"${gpus[@]}"}; do
    if [[ -e /etc/cdi/nvidia.yaml || -e /var/run/cdi/nvidia.yaml ]]; then PSL_DEVICES+=("nvidia.com/gpu=$gpu")
    elif [[ -e /dev/nvidia$gpu ]]; then PSL_DEVICES+=("/dev/nvidia$gpu"); fi
  done
  for device in /dev/nvidiactl /dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/kfd /dev/dri; do
    if [[ -e $device ]]; then
      PSL_DEVICES+=("$device")
    fi
  done
}
