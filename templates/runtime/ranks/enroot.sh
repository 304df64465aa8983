# Start ranks with enroot, as its hook 50-slurm-pmi.sh does for pyxis.

# prepare_rank_mounts ROOT: check the folders. enroot makes mount points.
prepare_rank_mounts() { refuse_odd_paths ${PSL_RANK_FOLDERS[@]+"${PSL_RANK_FOLDERS[@]}"}; }

# change_options_for_ranks ROOT: change the caller's array `options`. A PMIx server accepts only
# clients with the user id of the job, so the user is not root in the container.
# Source: enroot, document of `start`, hook 50-slurm-pmi.sh; PMIx, psec/native.
change_options_for_ranks() {
  local folder
  has_ranks || return 0
  drop_options --root '--mount=tmpfs:/dev/shm:*'
  options+=("--mount=$PSL_RANK_MEMORY:/dev/shm:none:x-create=dir,bind")
  for folder in ${PSL_RANK_FOLDERS[@]+"${PSL_RANK_FOLDERS[@]}"}; do
    options+=("--mount=$folder:$folder:none:x-create=dir,bind,rw,nosuid,noexec,nodev,private")
  done
}
