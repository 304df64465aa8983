# Name the InfiniBand adapters of a task so that NCCL takes no others.
# NCCL reads names as prefixes: mlx5_1 means mlx5_10 too. Names after a = are exact, from NCCL 2.5.6
# on; older ones find no adapter then. Source: NCCL user guide, NCCL_IB_HCA; NVIDIA/nccl#236.

# name_adapters_exactly: change NCCL_IB_HCA, but only if it would match another adapter of the node.
name_adapters_exactly() {
  local file name adapter
  for file in "$PSL_SYSFS"/infiniband/*; do
    name=${file##*/}
    if [[ ,$NCCL_IB_HCA, == *,"$name"[,:]* ]]; then
      continue
    fi
    for adapter in ${NCCL_IB_HCA//,/ }; do
      if [[ $name == "${adapter%:*}"* ]]; then
        export NCCL_IB_HCA="=$NCCL_IB_HCA"
        return
      fi
    done
  done
}
