# Mount the folders of ranks with Charliecloud.

# prepare_rank_mounts ROOT: make the mount points of the folders. The container sees ROOT/tmp as
# /tmp.
prepare_rank_mounts() {
  local folder
  local -a points=()
  for folder in ${PSL_RANK_FOLDERS[@]+"${PSL_RANK_FOLDERS[@]}"}; do
    case $folder in
      /tmp/*) points+=("$1$folder") ;;
      *) points+=("$1/upper$folder") ;;
    esac
  done
  if ((${#points[@]})); then
    (umask 0022 && mkdir -p -- ${points[@]+"${points[@]}"})
  fi
}

# print_rank_mounts ROOT: print the mounts of the folders.
print_rank_mounts() {
  local folder
  has_ranks || return 0
  print_mount "$PSL_RANK_MEMORY" /dev/shm none bind
  for folder in ${PSL_RANK_FOLDERS[@]+"${PSL_RANK_FOLDERS[@]}"}; do
    case $folder in
      /tmp/*) print_mount "$folder" "$1$folder" none bind ;;
      *) print_mount "$folder" "$1/merged$folder" none bind ;;
    esac
  done
}
