# Find what the tasks of a node wait for, when the stall guard has found that none moves.
#
# A step of its own reads /proc, so that it needs no answer of the tasks. For each task it prints
# "stalled ROLE INDEX ATTEMPT RANK PROCESSES SIGN WORDS": RANK is the strength of the evidence,
# PROCESSES are those of the user, joined by commas, SIGN tells in one word what they wait in. What
# users may read differs: without /proc/PID/syscall the path or pipe may be unknown.
# Source: proc(5); Linux, fs/proc/base.c, for the permissions.

# Kernel functions in which a process waits for a file system: those of NFS, FUSE, Lustre, Ceph,
# SMB, GPFS and 9P, and for the page cache.
readonly PSL_FILE_WAITS='^(rpc_wait|nfs|request_wait_answer|fuse_|ptlrpc|ldlm|cl_|osc_|ll_|lov_|'\
'ceph_|wait_for_response|cifs|smb|gpfs|cxi|mmfs|p9_|io_schedule|folio_wait|wait_on_page|jbd2|xfs_|'\
'autofs|__?wait_on_buffer|d_alloc_parallel)'
# By process: its parent, state, name, and the task that it belongs to.
declare -A PSL_PARENT_OF=() PSL_PROCESS_STATE=() PSL_PROCESS_NAME=() PSL_TASK_OF=()
# By "PROCESS THREAD" of threads that may be stuck: the kernel function. By process: where its first
# thread waits. By pipe: the processes with a read end; by socket: its task.
declare -A PSL_STUCK=() PSL_WAITS_IN=() PSL_PIPE_READERS=() PSL_SOCKET_TASK=()
# By task: rank and words of the best finding, its processes, the bytes that it has not read, and a
# line for each of its connections.
declare -A PSL_RANK_OF=() PSL_FINDING=() PSL_PROCESSES_OF=() PSL_UNREAD=() PSL_SOCKETS_OF=()
# The lines of net/tcp, and the ports on which tasks listen, in hexadecimal.
PSL_CONNECTIONS=() PSL_LISTENERS=' '

# print_stall: print a line for each task of the node, and write details for each.
print_stall() {
  local proc=${PSL_PROC:-/proc} task sign
  is_own_folder "$PSL_NODE_FOLDER" || return 0
  find_processes
  read_waits
  # A task that waits for a moment is not stuck.
  for _ in 1 2; do
    sleep "${PSL_STALL_PAUSE:-0.5}"
    confirm_waits
  done
  read_descriptors
  rank_processes
  find_unread
  for task in "${!PSL_PROCESSES_OF[@]}"; do
    name_wait "$task"
    send 1 stalled "${task//./ }" "${PSL_RANK_OF[$task]-0}" \
      "${PSL_PROCESSES_OF[$task]:-,}" "${sign:-,}" "${PSL_FINDING[$task]-}"
  done
  print_nccl_answer
  write_stall_details
}

# find_processes: find the processes of the users' commands, below the shells of the tasks.
find_processes() {
  local file line process role index attempt rest known depth
  local -A shells=()
  for file in "$PSL_NODE_FOLDER"/*.shell; do
    read -r role index attempt process <"$file" || continue
    shells[$process]=$role.$index.$attempt PSL_PROCESSES_OF[$role.$index.$attempt]=''
  done
  for file in "$proc"/[0-9]*/stat; do
    line=''
    IFS= read -r -d '' line <"$file" || [[ $line ]] || continue
    process=${line%% *} rest=${line##*) } line=${line#*(}
    line=${line%)*}
    PSL_PROCESS_NAME[$process]=${line//[^A-Za-z0-9._+-]/_} PSL_PROCESS_STATE[$process]=${rest%% *}
    rest=${rest#* }
    PSL_PARENT_OF[$process]=${rest%% *}
  done
  for process in "${!PSL_PARENT_OF[@]}"; do
    known=$process
    # The numbers of ended processes may have been given again meanwhile: do not go round.
    for ((depth = 0; depth < 100; depth++)); do
      [[ ${PSL_PARENT_OF[$known]-} && ! ${shells[$known]-} ]] || break
      known=${PSL_PARENT_OF[$known]}
    done
    if [[ $known != "$process" && ${shells[$known]-} ]] && ! is_own_shell "$process"; then
      PSL_TASK_OF[$process]=${shells[$known]}
      PSL_PROCESSES_OF[${shells[$known]}]+=${PSL_PROCESSES_OF[${shells[$known]}]:+,}$process
    fi
  done
} 2>/dev/null

# is_own_shell PROCESS: succeed if the process is a shell of this script.
is_own_shell() {
  local word
  while IFS= read -r -d '' word; do
    [[ $word != */job.sbatch ]] || return 0
    [[ $word == *bash || $word == -p ]] || return 1
  done <"$proc/$1/cmdline"
  return 1
} 2>/dev/null

# read_wait PROCESS THREAD: set the caller's `state` and `where` to the state of a thread and the
# kernel function in which it waits, 0 if unknown; fail if it has ended.
read_wait() {
  local rest='' folder=$proc/$1/task/$2
  state='' where=''
  read -r where <"$folder/wchan" || [[ $where ]] || where=0
  IFS= read -r -d '' rest <"$folder/stat" || [[ $rest ]] || return
  rest=${rest##*) } state=${rest%% *}
} 2>/dev/null

# read_waits: read where all threads wait, and remember those that may be stuck.
read_waits() {
  local process thread where state
  for process in "${!PSL_TASK_OF[@]}"; do
    for thread in "$proc/$process/task"/*; do
      thread=${thread##*/}
      read_wait "$process" "$thread" || continue
      if [[ $thread == "$process" ]]; then
        PSL_WAITS_IN[$process]=$where
        [[ $state != R ]] || PSL_WAITS_IN[$process]=running
      fi
      if [[ $state == [DTt] || $where =~ $PSL_FILE_WAITS || $where == *pipe_w* ]]; then
        PSL_STUCK["$process $thread"]=$state.$where
      fi
    done
  done
}

# confirm_waits: forget the threads that do not wait in the same place any more.
confirm_waits() {
  local process thread where state
  for thread in "${!PSL_STUCK[@]}"; do
    read_wait "${thread% *}" "${thread#* }"
    [[ $state.$where == "${PSL_STUCK[$thread]}" ]] || unset 'PSL_STUCK[$thread]'
  done
  for process in "${!PSL_WAITS_IN[@]}"; do
    read_wait "$process" "$process"
    [[ $state != R ]] || PSL_WAITS_IN[$process]=running
  done
}

# read_descriptors: find the ends of pipes, and the sockets of tasks.
read_descriptors() {
  local line file process
  local -a folders=()
  for process in "${!PSL_TASK_OF[@]}"; do
    folders+=("$proc/$process/fd"/*)
  done
  while read -r line; do
    file=${line#*"'$proc/"} process=${file%%/*}
    case $line in
      lr-*pipe:*) PSL_PIPE_READERS[${line##*pipe:}]+=" $process" ;;
      *socket:*)
        file=${line##*socket:[}
        PSL_SOCKET_TASK[${file%%]*}]=${PSL_TASK_OF[$process]}
        ;;
    esac
  done < <(
    export LC_ALL=C
    unset QUOTING_STYLE
    for ((line = 0; line < ${#folders[@]}; line += 1000)); do
      command -p stat -c '%A %N' -- "${folders[@]:line:1000}" 2>/dev/null
    done
  )
}

# rank_processes: note the best finding about each task.
rank_processes() {
  local thread process where name state task
  for thread in "${!PSL_STUCK[@]}"; do
    process=${thread% *} state=${PSL_STUCK[$thread]%%.*} where=${PSL_STUCK[$thread]#*.}
    name="${PSL_PROCESS_NAME[$process]}, process $process" task=${PSL_TASK_OF[$process]}
    read_call "$process" "${thread#* }"
    if [[ $state == [Tt] ]]; then
      note_finding "$task" 50 "is stopped by a signal ($name)"
    elif [[ $where == *pipe_w* ]]; then
      describe_pipe "$process"
      note_finding "$task" 30 "writes to a full pipe ($name$PSL_DESCRIBED)"
    else
      [[ $PSL_DESCRIBED == /* ]] && PSL_DESCRIBED=" on ${PSL_DESCRIBED:0:200}" || PSL_DESCRIBED=''
      note_finding "$task" 40 "waits for a file system ($name, in $where$PSL_DESCRIBED)"
    fi
  done
}

# note_finding TASK RANK WORDS: keep the finding if it is the best one of the task.
note_finding() {
  if (($2 > ${PSL_RANK_OF[$1]-0})); then
    PSL_RANK_OF[$1]=$2 PSL_FINDING[$1]=${3//[[:cntrl:]]/?}
  fi
}

# read_call PROCESS THREAD: set PSL_DESCRIBED to what the descriptor in the first argument of the
# thread's system call is, '' if unknown.
read_call() {
  local argument
  PSL_DESCRIBED=''
  read -r _ argument _ <"$proc/$1/task/$2/syscall" || return
  [[ $argument =~ ^0x[0-9a-f]{1,4}$ ]] || return
  PSL_DESCRIBED=$(readlink -- "$proc/$1/fd/$((argument))")
} 2>/dev/null

# describe_pipe PROCESS: set PSL_DESCRIBED, a pipe or '' for standard output, to the processes that
# should read it.
describe_pipe() {
  local reader readers=''
  if [[ $PSL_DESCRIBED != pipe:* ]]; then
    PSL_DESCRIBED=$(readlink -- "$proc/$1/fd/1" 2>/dev/null)
  fi
  for reader in ${PSL_PIPE_READERS[${PSL_DESCRIBED#pipe:}"'"]-}; do
    if [[ $reader != "$1" && $readers != *" $reader"* ]]; then
      readers+=", ${PSL_PROCESS_NAME[$reader]}, process $reader"
    fi
  done
  PSL_DESCRIBED="; not read by ${readers:2}"
  [[ $readers ]] || PSL_DESCRIBED='; no other process has its end'
}

# find_unread: note the tasks that do not read what others have sent, and the ports of listeners. A
# task that waits for data may wait for other data.
find_unread() {
  local process line ends task here there state queues socket networks=' '
  local -A task_at=() unread=()
  for process in "${!PSL_TASK_OF[@]}"; do
    # One process for each network.
    socket=$(readlink -- "$proc/$process/ns/net")
    if [[ ${socket:-$process} && $networks != *" $socket "* ]]; then
      networks+="$socket "
      mapfile -t -O "${#PSL_CONNECTIONS[@]}" PSL_CONNECTIONS < <(
        cat -- "$proc/$process/net/tcp" "$proc/$process/net/tcp6"
      )
    fi
  done 2>/dev/null
  for line in ${PSL_CONNECTIONS[@]+"${PSL_CONNECTIONS[@]}"}; do
    read -r _ here there state queues _ _ _ _ socket _ <<<"$line"
    task_at["$here $there"]=${PSL_SOCKET_TASK[${socket:-0}]-}
    task=${task_at["$here $there"]}
    if [[ $task ]]; then
      describe_connection "$task" "$here" "$there" "$state" "$queues"
    fi
    case ${task:+$state} in
      01) unread["$here $there"]=$((16#${queues#*:})) ;;
      0A) PSL_LISTENERS+="${here##*:} " ;;
    esac
  done
  for ends in "${!unread[@]}"; do
    task=${task_at[$ends]}
    if [[ ${task_at["${ends#* } ${ends% *}"]-} != "$task" ]]; then
      PSL_UNREAD[$task]=$((${PSL_UNREAD[$task]-0} + ${unread[$ends]}))
    fi
  done
  for task in "${!PSL_UNREAD[@]}"; do
    if ((${PSL_UNREAD[$task]})) && ! waits_for_data "$task"; then
      note_finding "$task" 20 "has not read ${PSL_UNREAD[$task]} bytes that others have sent"
    fi
  done
}

# describe_connection TASK HERE THERE STATE QUEUES: note a connection of a task in words.
# Source: proc(5), /proc/net/tcp; Linux, include/net/tcp_states.h.
describe_connection() {
  local from to line
  name_address "$2" from
  name_address "$3" to
  case $4 in
    01) line="$from connected to $to, bytes to send: $((16#${5%:*})), to read: $((16#${5#*:}))" ;;
    02) line="$from connecting to $to" ;;
    08) line="$from, closed by $to" ;;
    0A) line="$from listening" ;;
    *) return 0 ;;
  esac
  PSL_SOCKETS_OF[$1]+="$line"$'\n'
}

# name_address ADDRESS VARIABLE: set the variable to "10.0.0.1:80" for the hexadecimal address of
# /proc/net/tcp, whose words have the order of bytes of the machine.
name_address() {
  local host=${1%:*} text='' k
  # IPv4 in IPv6.
  if [[ $host =~ ^0{16}(0{8}|FFFF0000)(.{8})$ ]]; then
    host=${BASH_REMATCH[2]}
  fi
  if [[ ${#host} == 8 ]]; then
    for k in 6 4 2 0; do
      text+=${text:+.}$((16#${host:k:2}))
    done
  else
    for k in 6 2 14 10 22 18 30 26; do
      text+=${text:+:}${host:k:2}${host:k-2:2}
    done
    text="[${text,,}]"
  fi
  printf -v "$2" '%s:%s' "$text" "$((16#${1##*:}))"
}

# name_place PLACE: set PSL_PLACE to a place where a process waits, in words if it is a function of
# the kernel for what programs often wait for.
name_place() {
  case $1 in
    *[@+]* | running) PSL_PLACE=$1 ;;
    do_wait | *wait_task*) PSL_PLACE='a wait for a child process' ;;
    *sk_wait* | *wait_woken* | *skb_wait* | *recv* | inet_csk_accept)
      PSL_PLACE='a wait for data of a connection'
      ;;
    *futex*) PSL_PLACE='a wait for a lock or another thread' ;;
    *poll* | *select*) PSL_PLACE='a wait for an event' ;;
    *pipe_r*) PSL_PLACE='a wait for input of a pipe' ;;
    *pipe_w*) PSL_PLACE='a write to a pipe' ;;
    *nanosleep*) PSL_PLACE='a sleep' ;;
    0 | '') PSL_PLACE='a place that the kernel hides' ;;
    *) PSL_PLACE=$1 ;;
  esac
}

# waits_for_data TASK: succeed if a process of the task waits for data.
waits_for_data() {
  local process
  for process in ${PSL_PROCESSES_OF[$1]//,/ }; do
    if [[ ${PSL_WAITS_IN[$process]-} == @(*sk_wait*|*wait_woken*|*skb_wait*|*poll*|*recv*) ]]; then
      return 0
    fi
  done
  return 1
}

# name_wait TASK: set the caller's `sign` to what the task's processes wait in: functions of the
# kernel, of MPI, and of Python if py-spy is there.
name_wait() {
  local process count text='' mpi='' lacks=''
  sign=''
  for process in ${PSL_PROCESSES_OF[$1]//,/ }; do
    PSL_LIBRARY=''
    if [[ ${PSL_WAITS_IN[$process]-} == running ]]; then
      read_mpi "$process"
      mpi+=${PSL_FUNCTION:+${PSL_PROCESS_NAME[$process]}:$PSL_FUNCTION$'\n'}
      if [[ $PSL_LIBRARY && ! $PSL_FUNCTION ]]; then
        lacks=1
      fi
    fi
    # A kernel may hide the function: 0.
    if [[ ${PSL_WAITS_IN[$process]:-0} != 0 ]]; then
      text+="${PSL_PROCESS_NAME[$process]}:${PSL_WAITS_IN[$process]}"
      text+=${PSL_LIBRARY:++$PSL_LIBRARY}$'\n'
    fi
    if [[ ${PSL_PROCESS_NAME[$process]} == *python* ]]; then
      dump_flight_record "$process"
      read_python "$process"
      text+=${PSL_FUNCTION:+${PSL_PROCESS_NAME[$process]}:$PSL_FUNCTION$'\n'}
    fi
  done
  # The ranks of a task are compared with those of others, so some of them are not enough.
  [[ $lacks ]] || text+=$mpi
  while read -r count process; do
    sign+=,$process
    # Of several ranks in a task, one may wait in another place.
    ((count == 1)) || sign+=",$process*$count"
  done < <(printf '%s' "$text" | LC_ALL=C sort | uniq -c)
  sign=${sign#,}
}

# write_stall_details: write what was read to a file for each task: the finding, its processes, the
# stacks of programs of Python and MPI, and its connections.
write_stall_details() {
  local task process role index state
  for task in "${!PSL_PROCESSES_OF[@]}"; do
    IFS=. read -r role index _ <<<"$task"
    {
      printf '%s\n\nprocesses:\n' "${PSL_FINDING[$task]-nothing stands out}"
      for process in ${PSL_PROCESSES_OF[$task]//,/ }; do
        name_place "${PSL_WAITS_IN[$process]-}"
        case ${PSL_PROCESS_STATE[$process]} in
          R) state='runs' ;;
          [Tt]) state='is stopped' ;;
          Z) state='has ended, and its parent has not noticed it' ;;
          D) state="is in $PSL_PLACE, which no signal ends" ;;
          *) state="is in $PSL_PLACE" ;;
        esac
        printf '  %s, process %s, child of %s: %s\n' "${PSL_PROCESS_NAME[$process]}" "$process" \
          "${PSL_PARENT_OF[$process]}" "$state"
      done
      for process in ${PSL_PROCESSES_OF[$task]//,/ }; do
        printf '%s' "${PSL_STACKS[$process]-}"
      done
      printf '\nconnections:\n%s' "${PSL_SOCKETS_OF[$task]-none$'\n'}"
    } >"$PSL_ATTEMPT_FOLDER/stall/${PSL_ROLE_FOLDER[role]}.$index.txt"
  done
} 2>/dev/null
