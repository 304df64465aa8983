# Set the variables of a task that depend on the InfiniBand adapters of its node.
# NCCL reads names as prefixes: mlx5_1 means mlx5_10 too. Names after a = are exact, from NCCL 2.5.6
# on; older ones find no adapter then. Source: NCCL user guide, NCCL_IB_HCA; NVIDIA/nccl#236.

# export_adapters ROLE: set the variables of a role for the adapters that it is checked for.
export_adapters() {
  local checks=${PSL_INFINIBAND_CHECKS[$1]-}
  if [[ $checks && ${NCCL_IB_HCA-} == [!=^]* ]]; then
    name_adapters_exactly
  fi
  if [[ $checks == *hca:* ]]; then
    choose_gid "$1"
  elif [[ $checks && ${OMPI_MCA_btl_tcp_if_exclude-} ]]; then
    include_ethernet "${checks#net:}"
  fi
}

# prepare_adapters ROLE: check the adapters of a task, and let it lock memory. Tasks inherit the
# limit of the submitting shell, which is too low for InfiniBand on most login nodes.
# Source: slurm.conf(5), PropagateResourceLimits.
prepare_adapters() {
  if [[ ${PSL_INFINIBAND_CHECKS[$1]-} == *hca:* ]]; then
    note_far_adapters "$1"
  fi
  if [[ ${PSL_INFINIBAND_CHECKS[$1]-} == *memlock:* ]]; then
    ulimit -S -l "$(ulimit -H -l)"
  fi
}

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

# choose_gid ROLE: set the GID index of RoCE, if all adapters of the role are Ethernet. Without an
# index NCCL before 2.21 takes the first GID, which is not of RoCE v2. Later ones and UCX choose by
# themselves, adapter by adapter, and take the same one: version 2, and an IPv4 address. Beside
# their other settings of the GID no index is set: for NCCL it would win, and for UCX be an error.
# Source: NCCL user guide, NCCL_IB_GID_INDEX; NCCL, net_ib, ncclIbGetGidIndex; UCX, ib_device.c,
# uct_ib_device_select_gid, and ib_iface.c, GID_INDEX beside ROCE_SUBNET_LIST.
choose_gid() {
  local check port index='' found
  for check in ${PSL_INFINIBAND_CHECKS[$1]}; do
    [[ $check == hca:* ]] || continue
    find_port "${check#hca:}" || return 0
    read -r found 2>/dev/null <"$PSL_PORT/link_layer" || return 0
    [[ $found == Ethernet ]] || return 0
    found=$PSL_GID_INDEX
    if [[ ! $found ]]; then
      find_gid "$PSL_PORT" || return 0
      found=$PSL_GID
    fi
    # There is one variable for all adapters.
    [[ ${index:-$found} == "$found" ]] || return 0
    index=$found
  done
  [[ $index ]] || return 0
  if [[ ! ${NCCL_IB_GID_INDEX-}${NCCL_IB_ADDR_FAMILY-}${NCCL_IB_ADDR_RANGE-} &&
    ! ${NCCL_IB_ROCE_VERSION_NUM-} ]]; then
    export NCCL_IB_GID_INDEX=$index
  fi
  if [[ ! ${UCX_IB_GID_INDEX-}${UCX_IB_ROCE_SUBNET_LIST-} ]]; then
    export UCX_IB_GID_INDEX=$index
  fi
}

# find_port NAME[:PORT]: set PSL_PORT to the folder of an adapter's port, or of its first active
# one.
find_port() {
  local name=${1%:*} state
  if [[ $1 == *:* ]]; then
    PSL_PORT=$PSL_SYSFS/infiniband/$name/ports/${1##*:}
    return 0
  fi
  for PSL_PORT in "$PSL_SYSFS/infiniband/$name/ports"/*; do
    read -r state 2>/dev/null <"$PSL_PORT/state" || continue
    if [[ $state == *ACTIVE* ]]; then
      return 0
    fi
  done
  return 1
}

# find_gid PORT: set PSL_GID to the index of a port's first GID of RoCE v2 with an IPv4 address. Of
# an unused index the GID is 0 and the type cannot be read. Source: Linux,
# Documentation/ABI/testing/sysfs-class-infiniband; RFC 4291, IPv4-mapped addresses.
find_gid() {
  local gid type
  for ((PSL_GID = 0; ; PSL_GID++)); do
    read -r gid 2>/dev/null <"$1/gids/$PSL_GID" || return
    if [[ $gid == 0000:0000:0000:0000:0000:ffff:* ]]; then
      read -r type 2>/dev/null <"$1/gid_attrs/types/$PSL_GID"
      if [[ $type == 'RoCE v2' ]]; then
        return 0
      fi
    fi
  done
}

# include_ethernet INTERFACE: replace the list of excluded interfaces of Open MPI, if its defaults
# on the node or in the image have a list of included ones, as those of Debian's Open MPI 6 do. It
# refuses to have both, and then has no TCP. An Open MPI from a module has its defaults elsewhere.
# Source: mca_base_var_check_exclusive; Open MPI documentation, setting MCA parameter values.
include_ethernet() {
  local file line
  for file in "${HOME-}"/.openmpi/mca-params.conf /usr/local/etc/openmpi-mca-params.conf \
    "${PSL_ETC:-/etc}"/openmpi*/openmpi-mca-params.conf; do
    [[ -r $file ]] || continue
    while read -r line || [[ $line ]]; do
      if [[ $line == btl_tcp_if_include* ]]; then
        unset OMPI_MCA_btl_tcp_if_exclude
        export OMPI_MCA_btl_tcp_if_include=$1
        return
      fi
    done <"$file"
  done
}

# note_far_adapters ROLE: add to PSL_MISMATCHES if no adapter of the role is in the NUMA domain of a
# GPU of this task, but another active adapter of the node with the same link layer is.
# Source: Linux, Documentation/ABI/testing/sysfs-bus-pci, numa_node.
note_far_adapters() {
  local item domain layer='' other domains=' '
  # Without domains the GPUs may have names, which are no index of an array.
  [[ ${PSL_GPU_DOMAINS[*]-} ]] || return 0
  for item in ${PSL_DIVIDED_GPUS[@]+"${PSL_DIVIDED_GPUS[@]}"}; do
    domains+="${PSL_GPU_DOMAINS[item]-} "
  done
  [[ $domains == *[0-9]* ]] || return 0
  for item in ${PSL_INFINIBAND_CHECKS[$1]}; do
    [[ $item == hca:* ]] || continue
    read_adapter "${item#hca:}" || return 0
    if [[ $domains == *" $PSL_ADAPTER_DOMAIN "* ]]; then
      return 0
    fi
    layer=$PSL_ADAPTER_LAYER
  done
  for other in "$PSL_SYSFS"/infiniband/*; do
    other=${other##*/}
    if read_adapter "$other" && [[ $PSL_ADAPTER_LAYER == "$layer" ]] &&
      [[ $domains == *" $PSL_ADAPTER_DOMAIN "* ]]; then
      PSL_MISMATCHES+="the adapter $other of $SLURMD_NODENAME is in NUMA domain"
      PSL_MISMATCHES+=" $PSL_ADAPTER_DOMAIN, as is a GPU of this task, but no adapter of the site"
      PSL_MISMATCHES+=" profile is"$'\n'
      return 0
    fi
  done
}

# read_adapter NAME[:PORT]: set PSL_ADAPTER_DOMAIN and PSL_ADAPTER_LAYER. Fail if the port is not
# active, or its NUMA domain is unknown.
read_adapter() {
  local state
  find_port "$1" && read -r state 2>/dev/null <"$PSL_PORT/state" || return
  [[ $state == *ACTIVE* ]] || return
  read -r PSL_ADAPTER_DOMAIN 2>/dev/null <"$PSL_SYSFS/infiniband/${1%:*}/device/numa_node" || return
  PSL_ADAPTER_LAYER=''
  read -r PSL_ADAPTER_LAYER 2>/dev/null <"$PSL_PORT/link_layer"
  ((PSL_ADAPTER_DOMAIN >= 0))
}
