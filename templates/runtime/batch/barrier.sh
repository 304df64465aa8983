# Let the plugin ssh end its wait when all tasks have begun.

# lift_barrier: release the tasks that wait until all have begun, by a file beside each control
# FIFO.
lift_barrier() {
  local component
  ((PSL_TASKS_BEGUN == PSL_TASK_COUNT)) || return 0
  for component in "${PSL_EVERY_COMPONENT[@]}"; do
    run_on_nodes barrier "$component" >/dev/null &
  done
}

# mark_control_fifos MARK: make a file FIFO.MARK beside each control FIFO of this node.
mark_control_fifos() {
  local fifo
  check_node_folder || return
  for fifo in "$PSL_NODE_FOLDER"/*; do
    if [[ -p $fifo ]]; then
      : >"$fifo.$1"
    fi
  done
}
