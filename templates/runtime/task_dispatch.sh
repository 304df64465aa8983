
# ==== dispatch of tasks =========================================================
# A task, of which a node may have many, ends here and never reads what follows: that takes 0.56 of
# the time of reading all (make bench, reading).
start_up "$@"
if [[ ${1-} == --task ]]; then
  task_main "${@:2}"
fi
