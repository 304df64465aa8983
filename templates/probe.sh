# Describe this node for `paislurm site detect --probe`, in lines KEY VALUE...
#
# bash -c TEXT probe SYSFS HOME_MARK TMP_MARK PROGRAM...: SYSFS contains the folders `infiniband`
# and `net`, and is /sys/class or a copy of it; the marks are files in the home and /tmp of the probe's caller; the programs are
# container runtimes.
# Source: Linux, Documentation/ABI/stable/sysfs-class-infiniband, testing/sysfs-class-net,
# stable/sysfs-devices-node and testing/sysfs-bus-pci.
sysfs=$1
home_mark=$2
tmp_mark=$3
shift 3

# first_of FILE: print the first line of a file, or `unknown`.
first_of() {
  local line=unknown
  if [[ -r $1 ]]; then
    read -r line 2>/dev/null <"$1"
  fi
  printf '%s' "${line:-unknown}"
}

print_adapters() {
  local port name
  for port in "$sysfs"/infiniband/*/ports/*; do
    [[ -d $port ]] || continue
    name=${port%/ports/*}
    printf 'port %s %s %s %s\n' "${name##*/}" "${port##*/}" "$(first_of "$port/link_layer")" "$(first_of "$port/state")"
    if [[ $(first_of "$port/link_layer") == Ethernet ]]; then
      printf 'roce %s %s\n' "${name##*/}" "$(first_of "$port/gid_attrs/ndevs/0")"
    fi
  done
}

print_interfaces() {
  local net
  for net in "$sysfs"/net/*; do
    [[ -e $net/operstate ]] || continue
    printf 'net %s %s %s\n' "${net##*/}" "$(first_of "$net/type")" "$(first_of "$net/operstate")"
  done
  ip -oneline -4 address 2>/dev/null | while read -r _ name _ address _; do
    printf 'address %s %s\n' "$name" "${address%/*}"
  done
}

print_mounts() {
  local path kind
  while read -r _ path kind _; do
    case $kind in
      nfs | nfs4 | lustre | gpfs | beegfs | ceph | fuse.glusterfs) printf 'mount %s %s\n' "$kind" "$path" ;;
      *) if [[ $path == /tmp ]]; then printf 'tmp %s\n' "$kind"; fi ;;
    esac
  done </proc/self/mounts
}

print_programs() {
  local program
  for program; do
    if command -v "$program" >/dev/null; then
      printf 'runtime %s\n' "$program"
    fi
  done
  if command -v getent >/dev/null && getent ahosts "$(uname -n)" >/dev/null; then
    printf 'resolves %s\n' "$(uname -n)"
  fi
}

print_devices() {
  local file
  for file in /dev/nvidia[0-9]* /dev/kfd; do
    if [[ -e $file ]]; then
      printf 'device %s\n' "$file"
    fi
  done
}

print_rest() {
  printf 'ports %s\n' "$(first_of /proc/sys/net/ipv4/ip_local_port_range)"
  printf 'memlock %s\n' "$(ulimit -H -l)"
  if [[ -e $home_mark ]]; then
    printf 'shared home\n'
  fi
  if [[ -e $tmp_mark ]]; then
    printf 'shared tmp\n'
  fi
}

printf 'node %s\n' "${SLURMD_NODENAME:-$(uname -n)}"
print_adapters
print_interfaces
print_mounts
print_programs "$@"
print_devices
print_rest
