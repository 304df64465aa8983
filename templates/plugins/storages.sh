# Storages: each is on this node, where the job looks for it. Source: PAI protocol v2, extras.storages.
while IFS=$'\t' read -r whose path mount; do
  if [[ $whose == own ]]; then
    path=$path/$PAI_USER_NAME
    mkdir -p -- "$path"
    # Where all users can make folders, anybody could have made this one.
    if [[ ! -O $path ]] || { [[ -L $path ]] && owner=$(stat -c %u -- "$path") && [[ $owner != 0 && $owner != "$(id -u)" ]]; }; then
      printf 'the storage %s on %s belongs to another user, or is a link of one\n' "$path" "$SLURMD_NODENAME" >&2
      exit 1
    fi
  fi
  if [[ ! -d $path ]]; then
    printf 'the storage %s is not on %s\n' "$path" "$SLURMD_NODENAME" >&2
    exit 1
  fi
  if [[ ! $path -ef $mount ]]; then
    printf 'the storage %s is not at %s on %s, where the job looks for it\n' "$path" "$mount" "$SLURMD_NODENAME" >&2
    exit 1
  fi
done <<<"$MOUNTS"
