# Check this node before tasks start. Each line of output begins with the node's name; the last is
# "NODE end".

# Seconds for each tool, and the bytes that the check of a folder writes.
readonly PSL_TOOL_SECONDS=20 PSL_TEST_BYTES=4194304

# preflight_main CALL FOLDER ATTEMPT: run a part of the preflight on this node.
preflight_main() {
  local call=${1#--preflight-} word
  open_attempt "${@:2}"
  find_words_of_node
  for word in ${PSL_WORDS[@]+"${PSL_WORDS[@]}"}; do
    case $call:$word in
      checks:gpu) check_gpus ;;  # only: gpu-faults
      checks:disk) check_folders "${TMPDIR:-/tmp}" /dev/shm "$PSL_ATTEMPT_FOLDER" ;;
      checks:clock) printf '%s clock %s\n' "$SLURMD_NODENAME" "$(date +%s%3N)" ;;
      command:command:*) try_commands "command-${word#*:}" ;;
    esac
  done
  [[ $call != pairs.* ]] || try_pair "${call#pairs.}"  # only: pairs
  printf '%s end\n' "$SLURMD_NODENAME"
}

# find_words_of_node: set PSL_WORDS to the checks of all roles of this node, each once.
find_words_of_node() {
  local role word checks=' '
  for role in "${!PSL_NODES_OF[@]}"; do
    [[ " ${PSL_NODES_OF[role]} " == *" $SLURMD_NODENAME "* ]] || continue
    for word in ${PSL_PREFLIGHT[role]-}; do
      if [[ $checks != *" $word "* ]]; then
        checks+="$word "
      fi
    done
  done
  split_words ' ' "$checks"
}

print_node_problem() { printf '%s problem %s\n' "$SLURMD_NODENAME" "$1"; }

# check_folders FOLDER ...: write a file to each folder, and read it back. Nobody can predict its
# name.
check_folders() {
  local folder file said sum
  sum=$(head -c "$PSL_TEST_BYTES" /dev/zero | cksum)
  for folder; do
    file=$folder/.${PSL_NODE_FOLDER##*/}-$SLURMD_NODENAME-$BASHPID
    # dd reports errors of a full disk or a quota, which NFS reports at the end only.
    said=$(LC_ALL=C timeout -k 1 "$PSL_TOOL_SECONDS" dd if=/dev/zero of="$file" conv=fsync,excl \
      bs="$PSL_TEST_BYTES" count=1 2>&1)
    case $? in
      0)
        if [[ $(timeout -k 1 "$PSL_TOOL_SECONDS" cksum <"$file") != "$sum" ]]; then
          print_node_problem "a file in $folder cannot be read back"
        fi
        ;;
      124 | 137) print_node_problem "4 MiB cannot be written to $folder in $PSL_TOOL_SECONDS s" ;;
      *)
        said=${said%%$'\n'*}
        print_node_problem "cannot write 4 MiB to $folder: ${said##*: }"
        ;;
    esac
    rm -f -- "$file"
  done
}

# try_commands NAME: run commands of the preflight; print "NODE tried STATUS NUMBER LINE", the exit
# status, the last line that is a number, or `-`, and the last line.
try_commands() {
  local output status number line folder LC_ALL=C
  folder=$(temporary_folder)
  if ! output=$(mktemp "$folder/paislurm.XXXXXX"); then
    print_node_problem "cannot write to $folder"
    return
  fi
  (
    cd -- "$PSL_SUBMIT_DIR" 2>/dev/null || cd / || exit
    set_user_umask
    exec timeout -k 5 "$PSL_PREFLIGHT_SECONDS" \
      bash "$PSL_ATTEMPT_FOLDER/commands/preflight-$1.sh" >"$output" 2>&1 </dev/null
  )
  status=$?
  number=$(grep -aE '^[[:space:]]*[0-9]{1,15}(\.[0-9]+)?[[:space:]]*$' "$output" | tail -n 1)
  line=$(tail -c 1000 "$output" | grep -a '[^[:space:]]' | tail -n 1)
  line=${line//[![:print:]]/?}
  if ((status == 124 || status == 137)); then
    line="it did not end in $PSL_PREFLIGHT_SECONDS s"
  fi
  number=${number//[[:space:]]/}
  printf '%s tried %d %s %s\n' "$SLURMD_NODENAME" "$status" "${number:--}" "${line:0:200}"
  if ((status)); then
    tail -c 2000 "$output" | sed "s/^/$SLURMD_NODENAME: /" >&2
  fi
  rm -f -- "$output"
}
