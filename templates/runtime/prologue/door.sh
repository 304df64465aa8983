# What stands behind this is for the batch script and for calls.
case ${1-} in
  --ports) prepare_node "${@:2}" ;;
  --task) task_main "${@:2}" ;;
esac
