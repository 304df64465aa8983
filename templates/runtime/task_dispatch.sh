# ==== dispatch of tasks ====
# Further on read the first task of a role on a node, and tasks without gang allocation.
start_up "$@"
if [[ ${1-} == --task ]] && ((PSL_GANG && SLURM_LOCALID)); then
  task_main "${@:2}"
fi
