# Bash reads a script as far as it runs it: a task, of which a node may have many, needs no more of it than this.
case ${1-} in
  --ports) prepare_node "${@:2}" ;;
  --task) task_main "${@:2}" ;;
  --inside) inside_main "${@:2}" ;;
esac
