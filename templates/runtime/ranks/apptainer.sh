# Mount the folders of ranks with Apptainer or Singularity, where /dev/shm is the node's.

# prepare_rank_mounts ROOT: make the mount points of folders in /tmp, which is ROOT/tmp.
prepare_rank_mounts() {
  local folder
  refuse_odd_paths ${PSL_RANK_FOLDERS[@]+"${PSL_RANK_FOLDERS[@]}"} || return
  for folder in ${PSL_RANK_FOLDERS[@]+"${PSL_RANK_FOLDERS[@]}"}; do
    [[ $folder != /tmp/* ]] || mkdir -p -- "$1$folder" || return
  done
}

# change_options_for_ranks ROOT: add the mounts to the caller's array `options`. Ranks can join only
# a container with a user namespace, which an Apptainer that is setuid does not make by itself.
# Source: Apptainer Admin Guide, user namespaces.
change_options_for_ranks() {
  local folder
  has_ranks || return 0
  if ((PSL_RANKS > 1)); then
    options+=(--userns)
  fi
  for folder in ${PSL_RANK_FOLDERS[@]+"${PSL_RANK_FOLDERS[@]}"}; do
    options+=("--bind=$folder:$folder")
  done
}
