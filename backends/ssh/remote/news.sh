# Print new data in the folders of attempts: new files, or the bytes appended to known ones.
# Standard input: records, each terminated by NUL:
#   folder PATH                     the folder of an attempt
#   known INODE SIZE MTIME NAME     the known state of one of its files
#   want NAME                       a file or folder to print
#   task FOLDER INDEX               the logs of one task
#   look                            print the data
# Output: for each folder `folder PATH`; for each file with new data `file INODE SIZE MTIME OFFSET COUNT NAME`, both
# terminated by NUL, and COUNT bytes; finally `end TIME MORE`, where MORE is 1 if more data is left.
# Usage: news MOST: print at most MOST bytes of a file at a time, but always a complete result
set -u
most=$1 room=$(($1 * 8)) more=0
shopt -s nullglob

piece_of() { # name, offset, count
  {
    tail -c "+$(($2 + 1))" -- "$1" | head -c "$3"
    # Pad the data: the job may have truncated the file meanwhile; the next call sends it again.
    head -c "$3" /dev/zero
  } 2>/dev/null | head -c "$3"
}

look() {
  local found name inode size mtime offset count known_inode known_size known_mtime
  while IFS= read -r -d '' found; do
    IFS=' ' read -r inode size mtime name <<<"$found"
    read -r known_inode known_size known_mtime <<<"${known[$name]-0 0 0}"
    [[ $inode != "$known_inode" || $size != "$known_size" || $mtime != "$known_mtime" ]] || continue
    offset=0
    if [[ $inode == "$known_inode" ]] && ((size >= known_size)); then offset=$known_size; fi
    count=$((size - offset))
    if ((count > most)) && [[ $name != result.json ]]; then count=$most more=1; fi
    if ((room < count)); then
      more=1
      continue
    fi
    ((room -= count)) || :
    printf 'file %s %s %s %s %s %s\0' "$inode" "$((offset + count))" "$mtime" "$offset" "$count" "$name"
    piece_of "$name" "$offset" "$count"
  done < <(find -P "$@" -type f ! -name $'*\n*' -printf '%i %s %T@ %p\0' 2>/dev/null)
}

declare -A known=()
wanted=() there=0
while IFS= read -r -d '' record; do
  rest=${record#* }
  case $record in
    'folder '*)
      known=() wanted=() there=0
      if cd -- "$rest" 2>/dev/null; then
        there=1
        printf '%s\0' "$record"
      fi
      ;;
    'known '*)
      read -r inode size mtime name <<<"$rest"
      known[$name]="$inode $size $mtime"
      ;;
    'want '*) wanted+=("$rest") ;;
    'task '*) ((there == 0)) || wanted+=("${rest% *}/${rest##* }".*) ;;
    look) if ((there && ${#wanted[@]})); then look "${wanted[@]}"; fi ;;
  esac
done
printf 'end %s %s\0' "$(date +%s.%N)" "$more"
