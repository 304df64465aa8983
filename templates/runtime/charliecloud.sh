# Charliecloud: a container is an overlay over the folder of the image, with a root of its own, entered by ch-run.
# Source: ch-run(1) and ch-image(1) of Charliecloud 0.31.

readonly IMAGE_SUFFIX=''

# fetch_by_runtime NEW REGISTRY REPOSITORY DIGEST: an image as a folder.
fetch_by_runtime() {
  local log=$1.log storage=$1.storage tool
  tool=$(command -v ch-image) || { problem permanent "there is no ch-image on $SLURMD_NODENAME, which fetches images"; return; }
  # Nobody else's storage, and no build cache; credentials in the environment of this one process.
  (
    # It is written in Python, and takes the first on PATH, which may be the user's own.
    unset "${!CH_IMAGE_@}" PYTHONPATH PYTHONHOME
    PATH=${tool%/*}:/usr/local/bin:/usr/bin:/bin
    [[ ! $LOGIN_USER ]] ||
      export CH_IMAGE_AUTH=yes CH_IMAGE_USERNAME="$LOGIN_USER" CH_IMAGE_PASSWORD="$LOGIN_PASSWORD"
    [[ ! ${CERTIFICATES-} ]] || export REQUESTS_CA_BUNDLE="$CERTIFICATES"
    CH_IMAGE_CACHE=disabled "$tool" --storage "$storage" pull "$2/$3@$4"
  ) </dev/null >"$log" 2>&1 || { ch_image_problem "$2/$3@$4" "$log"; return; }
  mv -- "$storage/img/"* "$1"
}

ch_image_problem() {
  local line last=''
  while IFS= read -r line; do
    say "ch-image: $line"
    [[ $line != error:* ]] || last=${line#error: }
  done <"$2"
  case $last in
    '') problem permanent "ch-image on $SLURMD_NODENAME does not work: see srun/image-*.log" ;;
    unauthorized* | 'requested arch unavailable'* | 'image is architecture-unaware'*) problem permanent "the image $1 cannot be fetched: $last" ;;
    *) problem transient "the image $1 cannot be fetched: $last" ;;
  esac
}

prepare_runtime() {
  local image=${IMAGE_OF[ROLE]-}
  is_there ch-run || return
  [[ -d $image ]] || { say "error: the image $image is not on $SLURMD_NODENAME"; return 1; }
  [[ $image != *[,:\\]* ]] || { say "error: the path of an image can have no comma, colon or backslash: $image"; return 1; }
  mkdir -p -- "$1/upper" "$1/work" "$1/merged"
}

# enter_container ROOT INDEX ATTEMPT: become the container of the task.
enter_container() {
  local root=$1 run
  local -a options=()
  run=$(command -v ch-run)
  # What the image says of the environment of its processes.
  [[ ! -f ${IMAGE_OF[ROLE]}/ch/environment ]] || options+=("--set-env=${IMAGE_OF[ROLE]}/ch/environment")
  exec env -i "TMPDIR=$root/tmp" "HOME=$HOME" "USER=$PAI_USER_NAME" LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    unshare --user --map-root-user --mount bash "$SCRIPT" --mount "$FOLDER" "$ATTEMPT" "$ROLE" "$SLOT" "${BINDS[@]}" -- \
    "$run" "--uid=$(id -u)" "--gid=$(id -g)" --write ${options[@]+"${options[@]}"} "$root/merged" -- \
    bash "$SCRIPT" --inside "$FOLDER" "$ATTEMPT" "$ROLE" "$SLOT" "$2" "$3"
}

# mount_main FOLDER ATTEMPT ROLE SLOT [PATH MOUNTPOINT ...] -- COMMAND: lay out the root of a container, and run a command
# that enters it. In a mount namespace of its own an overlay gives the image what it lacks, and takes what is written.
mount_main() {
  local root i word
  open_attempt "$1" "$2" || exit
  root=$CALLS/$3.$4.root
  # What the image lacks to be mounted on: made below, since in the overlay a folder of the image may be somebody else's.
  umask 0022
  { mkdir -p -- "$root/upper/etc" && cp -- "$root/hosts" "$root/upper/etc/hosts"; } || exit
  i=0
  for word in "${@:5}"; do
    [[ $word != -- ]] || break
    ((i++ % 2 == 0)) || mkdir -p -- "$root/upper$word" || exit
  done
  mount -t overlay overlay -o "lowerdir=${IMAGE_OF[$3]},upperdir=$root/upper,workdir=$root/work" "$root/merged" || exit
  mount -t tmpfs -o "size=${SHM_OF[$3]}m,mode=1777" tmpfs /dev/shm || exit
  # ch-run takes these of the node: /etc/hosts, and TMPDIR as /tmp.
  { mount --bind "$root/hosts" /etc/hosts && mount --bind "$CALLS" "$root/tmp/${CALLS##*/}"; } || exit
  shift 4
  while [[ $1 != -- ]]; do
    mount --rbind -- "$1" "$root/merged$2" || exit
    shift 2
  done
  exec "${@:2}"
}
