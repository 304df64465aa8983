# Start ranks with Podman.

# prepare_rank_mounts ROOT: check the folders. Podman makes mount points.
prepare_rank_mounts() { refuse_odd_paths ${PSL_RANK_FOLDERS[@]+"${PSL_RANK_FOLDERS[@]}"}; }

# change_options_for_ranks ROOT: change the caller's array `options`. A PMIx server accepts only
# clients with the user id of the job, so the user is not root in the container. The other ranks
# must see the process of the first. Podman passes on only the first descriptors, so the socket of
# pmi2 gets another number.
# Source: podman-run(1), --userns, --pid, --ipc, --preserve-fds; PMIx, psec/native.
change_options_for_ranks() {
  local folder
  has_ranks || return 0
  drop_options --preserve-fds=1 --env=HOME=/root '--shm-size=*'
  options+=(
    --userns=keep-id --pid=host --ipc=host "--env=HOME=$HOME" "--volume=$PSL_RANK_MEMORY:/dev/shm"
  )
  for folder in ${PSL_RANK_FOLDERS[@]+"${PSL_RANK_FOLDERS[@]}"}; do
    options+=("--volume=$folder:$folder")
  done
  if [[ ${PMI_FD-} ]]; then
    exec 4<&"$PMI_FD"
    printf 'declare -x %s=4\n' PMI_FD >>"$1/environment"
    options+=(--preserve-fds=2)
  else
    options+=(--preserve-fds=1)
  fi
}
