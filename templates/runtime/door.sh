# Bash reads a script as far as it runs it: tasks, of which there may be many on a node, need no more of it than this.
case ${1-} in
  --ports) prepare_node "${@:2}" ;;
  --task) task_main "${@:2}" ;;
esac
