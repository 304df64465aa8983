# Check that each storage exists on this node.
# Source: PAI protocol v2, extras.storages.

# is_own_part FOLDER: succeed if this user owns a folder, which another user could have made. A link
# to the folder must belong to the user or root.
is_own_part() {
  local owner
  [[ -O $1 ]] || return
  if [[ -L $1 ]] && owner=$(stat -c %u -- "$1"); then
    [[ $owner == 0 || $owner == "$(id -u)" ]]
  fi
}

while IFS=$'\t' read -r whose path mount; do
  if [[ $whose == own ]]; then
    path=$path/$PAI_USER_NAME
    mkdir -p -- "$path"
    if ! is_own_part "$path"; then
      printf 'the storage %s on %s belongs to another user, or is a link of one\n' \
        "$path" "$SLURMD_NODENAME" >&2
      exit 1
    fi
  fi
  if [[ ! -d $path ]]; then
    printf 'the storage %s is not on %s\n' "$path" "$SLURMD_NODENAME" >&2
    exit 1
  fi
  if [[ ! $path -ef $mount ]]; then
    printf 'the storage %s is not at %s on %s, where the job looks for it\n' \
      "$path" "$mount" "$SLURMD_NODENAME" >&2
    exit 1
  fi
done <<<"$MOUNTS"
