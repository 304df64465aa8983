# Let the plugin ssh end its wait when all tasks have begun.

# All tasks have begun: tell those that wait for it, by a file beside the control FIFO of each.
lift_barrier() {
  local component
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
