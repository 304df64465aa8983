# Prints what has come in the folders of attempts since somebody looked: whole files, or what files have grown by.
# Standard input, records with a NUL behind each:
#   folder PATH                     the folder of an attempt
#   known INODE SIZE MTIME NAME     a file of it, as far as it is known there
#   want NAME                       a file or a folder that is wanted
#   task FOLDER INDEX               the logs of one task
#   look
# Prints for each folder `folder PATH`, for each file with news `file INODE SIZE MTIME OFFSET COUNT NAME`, a NUL behind
# each, and COUNT bytes; at the end `end TIME MORE`, where MORE is 1 if there is more.
# Usage: news MOST: so many bytes of a file at a time, but all of a result
set -u
most=$1 room=$(($1 * 8)) more=0
shopt -s nullglob

piece_of() { # name, offset, count
  {
    tail -c "+$(($2 + 1))" -- "$1" | head -c "$3"
    # If the job has cut the file short meanwhile, it is asked for anew.
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
