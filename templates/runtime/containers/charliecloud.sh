# Start containers with Charliecloud.
#
# A container is an overlay over the folder of the image, with a separate root that ch-run enters.
# Source: ch-run(1) of Charliecloud 0.31 and 0.38; fstab(5).

readonly PSL_RUNS_WITH=ch-run PSL_IMAGE_IS=-d
# In a new user namespace this shell mounts the root, with one process for all mounts, and becomes
# ch-run.
# shellcheck disable=SC2016 # for the shell in there
readonly PSL_LAY_OUT_AND_ENTER='export TMPDIR="$1" HOME="$2" USER="$3" LANG=C.UTF-8
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount --all --fstab "$4" && shift 4 && exec "$@"'

# add_folders_of_runtime ROOT: add to `folders` the folders that the runtime needs below the
# container's root. Make missing mount points here and not in the overlay, where another user may
# own the image's folders.
add_folders_of_runtime() {
  local i
  folders+=("$1/work" "$1/merged" "$1/upper/etc")
  for ((i = 1; i < ${#PSL_BINDS[@]}; i += 2)); do
    folders+=("$1/upper${PSL_BINDS[i]}")
  done
}

# prepare_runtime ROOT: write the fstab of the container. Its overlay contains missing mount points,
# and the files that the task writes.
prepare_runtime() {
  local root=$1
  refuse_odd_paths "${PSL_IMAGE_OF[PSL_ROLE]}" || return
  : >"$root/upper/etc/hosts" || return
  print_fstab "$root" >"$root/fstab"
}

# print_fstab ROOT: print the mounts of the container.
print_fstab() {
  local root=$1 i overlay
  overlay=lowerdir=${PSL_IMAGE_OF[PSL_ROLE]},upperdir=$root/upper,workdir=$root/work
  print_mount overlay "$root/merged" overlay "$overlay"
  print_rank_mounts "$root"  # only: contained-ranks
  # A unique source, because mount skips one that is mounted already.
  has_ranks ||  # only: contained-ranks
  print_mount "shm-of-$PSL_ROLE.$PSL_SLOT" /dev/shm tmpfs \
    "size=${PSL_SHM_OF[PSL_ROLE]}m,mode=1777"
  # ch-run mounts /etc/hosts and TMPDIR (as /tmp) of the node.
  print_mount "$root/hosts" /etc/hosts none bind
  print_mount "$PSL_NODE_FOLDER" "$root/tmp/${PSL_NODE_FOLDER##*/}" none bind
  for ((i = 0; i < ${#PSL_BINDS[@]}; i += 2)); do
    print_mount "${PSL_BINDS[i]}" "$root/merged${PSL_BINDS[i + 1]}" none rbind
  done
}

# print_mount SOURCE POINT KIND OPTIONS: print a line of an fstab.
print_mount() {
  local field
  for field; do
    field=${field//\\/\\134}
    field=${field// /\\040}
    field=${field//$'\t'/\\011}
    field=${field//$'\n'/\\012}
    printf '%s ' "$field"
  done
  printf '0 0\n'
}

# enter_container ROOT: become the container of the task.
enter_container() {
  local root=$1
  # Since 0.33 ch-run sets HOME to /root, where only root may write.
  local -a options=("--uid=$(id -u)" "--gid=${GROUPS[0]}" --write "--set-env=HOME=$HOME")
  # This file of the image sets the environment of its processes.
  if [[ -f ${PSL_IMAGE_OF[PSL_ROLE]}/ch/environment ]]; then
    options+=("--set-env=${PSL_IMAGE_OF[PSL_ROLE]}/ch/environment")
  fi
  exec -c unshare --user --map-root-user --mount \
    sh -c "$PSL_LAY_OUT_AND_ENTER" sh "$root/tmp" "$HOME" "$PSL_JOB_USER" "$root/fstab" \
    "${BASH_CMDS[ch-run]}" "${options[@]}" "$root/merged" -- "${PSL_CONTAINER_COMMAND[@]}"
}
