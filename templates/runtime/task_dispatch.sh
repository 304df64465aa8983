# ==== dispatch of tasks ====
# Only two kinds of tasks read further: the first task of each role on a node, to prepare the node,
# and tasks without gang allocation, to find their ports.
start_up "$@"
if [[ ${1-} == --task ]] && ((PSL_GANG && SLURM_LOCALID)); then
  task_main "${@:2}"
fi
