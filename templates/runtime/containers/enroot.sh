# Start containers with enroot, as pyxis does.
#
# The shell of the task starts enroot, so it has Slurm outside of the container, and the task
# inside. Source: enroot, document of `start`, standard hooks, image format.

readonly PSL_RUNS_WITH=enroot PSL_IMAGE_IS=-f

# add_folders_of_runtime ROOT: enroot needs no folders below the container's root.
add_folders_of_runtime() { :; }

# prepare_runtime ROOT: check the paths that the runtime mounts.
prepare_runtime() { refuse_odd_paths "${PSL_BINDS[@]}"; }

# enter_container ROOT: become the container of the task. Enroot starts it from the image's file,
# and keeps changes in memory. The hooks of enroot read the variables of the task, and mount GPUs
# and HCAs. The file of `--rc` replaces the image's entrypoint.
enter_container() {
  local root=$1 i
  local -a options=(
    --rw --root "--rc=$root/rc"
    "--mount=$PSL_NODE_FOLDER:$PSL_NODE_FOLDER:none:x-create=dir,bind"
    "--mount=$root/hosts:/etc/hosts:none:x-create=file,bind"
    "--mount=tmpfs:/dev/shm:tmpfs:x-create=dir,size=${PSL_SHM_OF[PSL_ROLE]}m,mode=1777"
  )
  for ((i = 0; i < ${#PSL_BINDS[@]}; i += 2)); do
    options+=("--mount=${PSL_BINDS[i]}:${PSL_BINDS[i + 1]}:none:x-create=dir,rbind")
  done
  if ((PSL_ROLE_GPUS[PSL_ROLE])); then
    options+=("--env=NVIDIA_VISIBLE_DEVICES" "--env=NVIDIA_DRIVER_CAPABILITIES=all")
  fi
  if [[ ${PSL_INFINIBAND_OF[PSL_ROLE]-} ]]; then
    options+=("--env=MELLANOX_VISIBLE_DEVICES=all")
  fi
  change_options_for_ranks "$root"  # only: contained-ranks
  # shellcheck disable=SC2016 # for the shell in there
  printf 'exec "$@"\n' >"$root/rc" || exit
  exec {PSL_EXPORTS_FD}< <(
    print_exports "HOME=$HOME" "USER=$PSL_JOB_USER" "PATH=$PATH" "XDG_RUNTIME_DIR=$root" \
      "NVIDIA_VISIBLE_DEVICES=${NVIDIA_VISIBLE_DEVICES-}"
  )
  exec env -i "BASH_ENV=/dev/fd/$PSL_EXPORTS_FD" bash -c 'exec "$@"' bash \
    enroot start "${options[@]}" "${PSL_IMAGE_OF[PSL_ROLE]}" "${PSL_CONTAINER_COMMAND[@]}"
}
