
# ==== dispatch of tasks =========================================================
# Bash reads a script while running it. A task, of which a node may have many, ends here and never
# reads what follows: that takes 0.56 of the time of reading all (make bench, reading).
start_up "$@"
case ${1-} in
  --task) task_main "${@:2}" ;;
  --inside) container_side_main "${@:2}" ;;
esac
