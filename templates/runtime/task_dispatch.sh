# ==== dispatch of tasks ====
# Of the tasks of a node only the first one of each role reads on, to prepare the node, and tasks
# without gang allocation, to find ports of their own.
start_up "$@"
if [[ ${1-} == --task ]] && ((PSL_GANG && SLURM_LOCALID)); then
  task_main "${@:2}"
fi
