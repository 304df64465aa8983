# Check that each storage is on this node, where the job looks for it.
# Source: PAI protocol v2, extras.storages.

# is_own_part FOLDER: tell whether a folder is the user's own. Where all users can make folders,
# anybody could have made this one. A link to it may be the user's, or root's.
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
