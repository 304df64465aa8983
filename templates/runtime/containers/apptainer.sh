# Apptainer and Singularity: a .sif file, a .sqsh file or a folder. Source: apptainer-exec(1); Apptainer
# User Guide, "Environment and Metadata", "Persistent Overlays", "GPU Support" and appendix, environment variables.

readonly RUNS_WITH=$CONTAINER_RUNTIME IMAGE_IS=-e

add_folders_of_runtime() { folders+=("$1/overlay"); }

prepare_runtime() { refuse_odd_paths "${BINDS[@]}"; }

# enter_container ROOT: become the container of the task.
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
  exec "$CONTAINER_RUNTIME" --silent exec "${options[@]}" "${IMAGE_OF[ROLE]}" "${INSIDE[@]}"
}
