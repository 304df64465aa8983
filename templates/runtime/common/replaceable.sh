# Find out which paths other users could replace, and make folders that are private.

# replaceable PATH: succeed if others could replace what an absolute path names, and print why: the
# first folder or link on the way that belongs to another user than this one and root, or a folder
# that others can write to without the sticky bit, with which only owners can remove its entries.
# The path itself may be missing. The same rule: translator/files/private.py.
replaceable() {
  local rest=$1 at='' part target owner name mode path links=0 checked=0
  local -a way=(/)
  while [[ $rest ]]; do
    part=${rest%%/*} rest=${rest#"${rest%%/*}"} rest=${rest#/}
    [[ $part && $part != . ]] || continue
    way+=("${at:-/}")
    path=$at/$part
    if [[ $part == .. ]]; then
      at=${at%/*}
    elif [[ -L $path ]] && ((links++ < 40)); then
      way+=("$path")
      IFS= read -r -d '' target < <(readlink -z -- "$path")
      [[ $target != /* ]] || at=''
      rest=$target/$rest
    elif [[ -e $path ]]; then
      at=$path
    else
      break
    fi
  done
  while read -r -d '' owner mode path; do
    checked=$((checked + 1))
    if ((owner && owner != EUID)); then
      name=$(id -nu -- "$owner" 2>/dev/null) || name="user $owner"
      printf '%s belongs to %s' "$path" "$name"
      return 0
    elif ((16#$mode >> 12 == 4 && 16#$mode & 8#22 && !(16#$mode & 8#1000))); then
      printf 'others can write to %s (mode %04o)' "$path" "$((16#$mode & 8#7777))"
      return 0
    fi
  done < <(stat --printf '%u %f %n\0' -- "${way[@]}")
  ((checked < ${#way[@]})) && printf 'stat fails for the folders above %s' "$1"
}

# make_private FOLDER: make a folder with its missing parents. Their mode keeps others out; a
# default ACL would replace the umask.
make_private() {
  if [[ -d ${1:-/} ]]; then
    return
  fi
  make_private "${1%/*}" || return
  # Another node may have made it.
  mkdir -m 0700 -- "$1" || [[ -d $1 ]]
}

# temporary_folder: print TMPDIR, or /tmp if others could replace files in TMPDIR.
temporary_folder() {
  if [[ ${TMPDIR-} != /* ]] || replaceable "$TMPDIR/file" >/dev/null; then
    printf '/tmp'
  else
    printf '%s' "$TMPDIR"
  fi
}
