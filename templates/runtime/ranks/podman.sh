# Start ranks with Podman.

# prepare_rank_mounts ROOT: check the folders. Podman makes mount points.
prepare_rank_mounts() { refuse_odd_paths ${PSL_RANK_FOLDERS[@]+"${PSL_RANK_FOLDERS[@]}"}; }

# change_options_for_ranks ROOT: change the caller's array `options`. A PMIx server accepts only
# clients with the user id of the job, so there the user is not root in the container. Podman passes
# on only the first descriptors, so the socket of pmi2 gets another number. Ranks of two containers
# share the memory of System V, where the node has what Podman mounts for it. Processes of two
# containers can have the same number: Open MPI then crashes in its shared memory, so there it uses
# TCP.
# Source: podman-run(1), --userns, --ipc, --preserve-fds, --pid; PMIx, psec/native; runs of Open MPI
# 4.1.4.
change_options_for_ranks() {
  local folder
  has_ranks || return 0
  drop_options --preserve-fds=1 '--shm-size=*'
  options+=("--volume=$PSL_RANK_MEMORY:/dev/shm")
  if [[ -d /dev/mqueue ]]; then
    options+=(--ipc=host)
  fi
  if shares_node; then
    options+=("--env=OMPI_MCA_btl=${OMPI_MCA_btl-^vader,sm}")
  fi
  if [[ ${PMIX_RANK-} ]]; then
    drop_options --env=HOME=/root
    options+=(--userns=keep-id "--env=HOME=$HOME")
  fi
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
