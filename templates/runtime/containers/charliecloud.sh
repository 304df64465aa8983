# Charliecloud: a container is an overlay over the folder of the image, with a root of its own, entered by ch-run.
# Source: ch-run(1) of Charliecloud 0.31 and 0.38; fstab(5).

readonly PSL_RUNS_WITH=ch-run PSL_IMAGE_IS=-d
# In a user namespace of its own: lay out the root, all mounts by one process, and become what enters it.
# shellcheck disable=SC2016 # for the shell in there
readonly PSL_LAY_OUT_AND_ENTER='export TMPDIR="$1" HOME="$2" USER="$3" LANG=C.UTF-8
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount --all --fstab "$4" && shift 4 && exec "$@"'

# add_folders_of_runtime ROOT: what the image lacks to be mounted on is made below it, since in the overlay a folder of the
# image may be somebody else's.
add_folders_of_runtime() {
  local i
  folders+=("$1/work" "$1/merged" "$1/upper/etc")
  for ((i = 1; i < ${#PSL_BINDS[@]}; i += 2)); do folders+=("$1/upper${PSL_BINDS[i]}"); done
}

# prepare_runtime ROOT: an overlay gives the image what it lacks, and takes what is written.
prepare_runtime() {
  local root=$1 i
  refuse_odd_paths "${PSL_IMAGE_OF[PSL_ROLE]}" && : >"$root/upper/etc/hosts" || return
  {
    print_mount overlay "$root/merged" overlay "lowerdir=${PSL_IMAGE_OF[PSL_ROLE]},upperdir=$root/upper,workdir=$root/work"
    # Under a name of its own, since one that is mounted already would be passed over.
    print_mount "shm-of-$PSL_ROLE.$PSL_SLOT" /dev/shm tmpfs "size=${PSL_SHM_OF[PSL_ROLE]}m,mode=1777"
    # ch-run takes these of the node: /etc/hosts, and TMPDIR as /tmp.
    print_mount "$root/hosts" /etc/hosts none bind
    print_mount "$PSL_NODE_FOLDER" "$root/tmp/${PSL_NODE_FOLDER##*/}" none bind
    for ((i = 0; i < ${#PSL_BINDS[@]}; i += 2)); do print_mount "${PSL_BINDS[i]}" "$root/merged${PSL_BINDS[i + 1]}" none rbind; done
  } >"$root/fstab"
}

# print_mount SOURCE POINT KIND OPTIONS: a line of a fstab.
print_mount() {
  local field
  for field; do
    field=${field//\\/\\134} field=${field// /\\040} field=${field//$'\t'/\\011} field=${field//$'\n'/\\012}
    printf '%s ' "$field"
  done
  printf '0 0\n'
}

# enter_container ROOT: become the container of the task.
enter_container() {
  local root=$1
  # Since 0.33 ch-run makes HOME /root, where only root may write.
  local -a options=("--uid=$(id -u)" "--gid=${GROUPS[0]}" --write "--set-env=HOME=$HOME")
  # What the image says of the environment of its processes.
  if [[ -f ${PSL_IMAGE_OF[PSL_ROLE]}/ch/environment ]]; then
    options+=("--set-env=${PSL_IMAGE_OF[PSL_ROLE]}/ch/environment")
  fi
  exec -c unshare --user --map-root-user --mount sh -c "$PSL_LAY_OUT_AND_ENTER" sh "$root/tmp" "$HOME" "$PSL_JOB_USER" "$root/fstab" \
    "${BASH_CMDS[ch-run]}" "${options[@]}" "$root/merged" -- "${PSL_CONTAINER_COMMAND[@]}"
}
