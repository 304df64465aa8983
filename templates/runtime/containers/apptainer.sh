# Start containers with Apptainer or Singularity.
#
# An image is a .sif file, a .sqsh file or a folder.
# Source: apptainer-exec(1); Apptainer User Guide, "Environment and Metadata",
# "Persistent Overlays", "GPU Support" and appendix, environment variables.

readonly PSL_RUNS_WITH=$PSL_CONTAINER_RUNTIME PSL_IMAGE_IS=-e

# add_folders_of_runtime ROOT: add to `folders` the folders that the runtime needs below the
# container's root.
add_folders_of_runtime() { folders+=("$1/overlay"); }

# prepare_runtime ROOT: check the paths that the runtime mounts.
prepare_runtime() { refuse_odd_paths "${PSL_BINDS[@]}"; }

# enter_container ROOT: become the container of the task.
enter_container() {
  local root=$1 i
  local -a options=(
    --cleanenv --no-home --no-mount=tmp --no-mount=cwd --pwd=/
    "--bind=$root/tmp:/tmp" "--bind=$PSL_NODE_FOLDER:$PSL_NODE_FOLDER"
    "--bind=$root/hosts:/etc/hosts"
  )
  # Singularity has no overlay for unprivileged users.
  if [[ $PSL_CONTAINER_RUNTIME == apptainer ]]; then
    options+=("--overlay=$root/overlay")
  else
    options+=(--writable-tmpfs)
  fi
  for ((i = 0; i < ${#PSL_BINDS[@]}; i += 2)); do
    options+=("--bind=${PSL_BINDS[i]}:${PSL_BINDS[i + 1]}")
  done
  if ((PSL_ROLE_GPUS[PSL_ROLE])); then
    if [[ -e /dev/nvidiactl ]]; then
      options+=(--nv)
    fi
    if [[ -e /dev/kfd ]]; then
      options+=(--rocm)
    fi
  fi
  change_options_for_ranks "$root"  # only: contained-ranks
  exec "$PSL_CONTAINER_RUNTIME" --silent exec "${options[@]}" "${PSL_IMAGE_OF[PSL_ROLE]}" \
    "${PSL_CONTAINER_COMMAND[@]}"
}
