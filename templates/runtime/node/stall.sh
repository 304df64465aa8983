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
# By task: rank and words of the best finding, its processes, and the line that is printed.
declare -A PSL_RANK_OF=() PSL_FINDING=() PSL_PROCESSES_OF=() PSL_UNREAD=()
# The lines of net/tcp, and a variable of a process.
PSL_CONNECTIONS=() PSL_VARIABLE='' PSL_WORD=''
# By process: its stack in Python.
declare -A PSL_STACKS=()

# print_stall: print a line for each task of the node, and write details for each.
print_stall() {
  local proc=${PSL_PROC:-/proc} task sign
  is_own_folder "$PSL_NODE_FOLDER" || return 0
  find_processes
  read_waits
  # A task that waits for a moment is not stuck.
  sleep "${PSL_STALL_PAUSE:-0.5}"
  confirm_waits
  sleep "${PSL_STALL_PAUSE:-0.5}"
  confirm_waits
  read_descriptors
  rank_processes
  find_unread
  for task in "${!PSL_PROCESSES_OF[@]}"; do
    name_wait "$task"
    printf 'stalled %s %s %s %s %s\n' "${task//./ }" "${PSL_RANK_OF[$task]-0}" \
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
  done 2>/dev/null
  for file in "$proc"/[0-9]*/stat; do
    line=''
    IFS= read -r -d '' line <"$file" || [[ $line ]] || continue
    process=${line%% *} rest=${line##*) } line=${line#*(}
    line=${line%)*}
    PSL_PROCESS_NAME[$process]=${line//[^A-Za-z0-9._+-]/_} PSL_PROCESS_STATE[$process]=${rest%% *}
    rest=${rest#* }
    PSL_PARENT_OF[$process]=${rest%% *}
  done 2>/dev/null
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
}

# is_own_shell PROCESS: succeed if the process is a shell of this script.
is_own_shell() {
  local word
  while IFS= read -r -d '' word; do
    [[ $word != */job.sbatch ]] || return 0
    [[ $word == *bash || $word == -p ]] || return 1
  done <"$proc/$1/cmdline"
  return 1
} 2>/dev/null

# read_waits: read where all threads wait, and remember those that may be stuck.
read_waits() {
  local process thread where state rest
  for process in "${!PSL_TASK_OF[@]}"; do
    for thread in "$proc/$process/task"/*; do
      where='' rest=''
      read -r where <"$thread/wchan" || [[ $where ]] || where=0
      IFS= read -r -d '' rest <"$thread/stat" || [[ $rest ]] || continue
      rest=${rest##*) } state=${rest%% *}
      if [[ $thread == */"$process" ]]; then
        PSL_WAITS_IN[$process]=$where
        [[ $state != R ]] || PSL_WAITS_IN[$process]=running
      fi
      if [[ $state == [DTt] || $where =~ $PSL_FILE_WAITS || $where == *pipe_w* ]]; then
        PSL_STUCK["$process ${thread##*/}"]=$state.$where
      fi
    done
  done
} 2>/dev/null

# confirm_waits: forget the threads that do not wait in the same place any more.
confirm_waits() {
  local thread where state rest
  for thread in "${!PSL_STUCK[@]}"; do
    where='' rest=''
    read -r where <"$proc/${thread/ //task/}/wchan" || [[ $where ]] || where=0
    IFS= read -r -d '' rest <"$proc/${thread/ //task/}/stat"
    rest=${rest##*) } state=${rest%% *}
    if [[ $state.$where != "${PSL_STUCK[$thread]}" ]]; then
      unset "PSL_STUCK[$thread]"
    fi
  done
  for thread in "${!PSL_WAITS_IN[@]}"; do
    rest=''
    IFS= read -r -d '' rest <"$proc/$thread/stat"
    rest=${rest##*) }
    [[ ${rest%% *} != R ]] || PSL_WAITS_IN[$thread]=running
  done
} 2>/dev/null

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
  local thread process where name state
  for thread in "${!PSL_STUCK[@]}"; do
    process=${thread% *} state=${PSL_STUCK[$thread]%%.*} where=${PSL_STUCK[$thread]#*.}
    name="${PSL_PROCESS_NAME[$process]}, process $process"
    if [[ $state == [Tt] ]]; then
      note_finding "$process" 50 "is stopped by a signal ($name)"
    elif [[ $where == *pipe_w* ]]; then
      describe_pipe "$process" "${thread#* }"
      note_finding "$process" 30 "writes to a full pipe ($name$PSL_DESCRIBED)"
    else
      describe_path "$process" "${thread#* }"
      note_finding "$process" 40 "waits for a file system ($name, in $where$PSL_DESCRIBED)"
    fi
  done
}

# note_finding PROCESS RANK WORDS: keep the finding if it is the best one of the process's task.
note_finding() {
  local task=${PSL_TASK_OF[$1]}
  if (($2 > ${PSL_RANK_OF[$task]-0})); then
    PSL_RANK_OF[$task]=$2 PSL_FINDING[$task]=${3//[[:cntrl:]]/?}
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

# describe_path PROCESS THREAD: set PSL_DESCRIBED to " on PATH" if the path is known.
describe_path() {
  read_call "$@"
  [[ $PSL_DESCRIBED == /* ]] && PSL_DESCRIBED=" on ${PSL_DESCRIBED:0:200}" || PSL_DESCRIBED=''
}

# describe_pipe PROCESS THREAD: set PSL_DESCRIBED to the processes that should read the pipe.
describe_pipe() {
  local reader readers=''
  read_call "$@"
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

# find_unread: note the tasks that do not read what others have sent. A task that waits for data may
# wait for other data.
find_unread() {
  local process task here there state queues socket networks=' '
  local -A owner=()
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
  for process in "${!PSL_CONNECTIONS[@]}"; do
    read -r _ here there state queues _ _ _ _ socket _ <<<"${PSL_CONNECTIONS[process]}"
    owner["$here $there"]=${PSL_SOCKET_TASK[${socket:-0}]-}
  done
  for process in "${!PSL_CONNECTIONS[@]}"; do
    read -r _ here there state queues _ _ _ _ socket _ <<<"${PSL_CONNECTIONS[process]}"
    task=${PSL_SOCKET_TASK[${socket:-0}]-}
    if [[ $task && $state == 01 && ${owner["$there $here"]-} != "$task" ]] &&
      ((16#${queues#*:})); then
      PSL_UNREAD[$task]=$((${PSL_UNREAD[$task]-0} + 16#${queues#*:}))
    fi
  done
  for task in "${!PSL_UNREAD[@]}"; do
    if ((${PSL_RANK_OF[$task]-0} < 20)) && ! waits_for_data "$task"; then
      PSL_RANK_OF[$task]=20
      PSL_FINDING[$task]="has not read ${PSL_UNREAD[$task]} bytes that others have sent"
    fi
  done
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
# kernel, and of Python if py-spy is there.
name_wait() {
  local process count text=''
  sign=''
  for process in ${PSL_PROCESSES_OF[$1]//,/ }; do
    PSL_WORD=''
    if [[ ${PSL_PROCESS_NAME[$process]} == *python* ]]; then
      read_python "$process"
      dump_flight_record "$process"
    fi
    # A kernel may hide the function: 0.
    if [[ ${PSL_WAITS_IN[$process]:-0} != 0 ]]; then
      text+="${PSL_PROCESS_NAME[$process]}:${PSL_WAITS_IN[$process]}"$'\n'
    fi
    if [[ $PSL_WORD ]]; then
      text+="${PSL_PROCESS_NAME[$process]}:$PSL_WORD"$'\n'
    fi
  done
  while read -r count process; do
    sign+=,$process
    # Of several ranks in a task, one may wait in another place.
    ((count == 1)) || sign+=",$process*$count"
  done < <(printf '%s' "$text" | LC_ALL=C sort | uniq -c)
  sign=${sign#,}
}

# read_python PROCESS: set PSL_WORD to the innermost function of the main thread, "NAME@FILE:LINE".
# py-spy may be only in the PATH of the process; it reads the memory, and does not stop the process.
# Source: py-spy dump --help.
read_python() {
  local line
  read_variable "$1" PATH
  while IFS= read -r line; do
    if [[ ! $PSL_WORD && $line =~ ^\ +([^ ]+)\ \((.*)\)$ ]]; then
      PSL_WORD=${BASH_REMATCH[1]}@${BASH_REMATCH[2]}
      PSL_WORD=${PSL_WORD//[^A-Za-z0-9._:@+\/-]/_}
    fi
    PSL_STACKS[$1]+=$line$'\n'
  done < <(PATH=$PATH:$PSL_VARIABLE timeout 3 py-spy dump --nonblocking --pid "$1" |
    sed -n '/MainThread/,/^Thread/p')
} 2>/dev/null

# print_nccl_answer: ask NCCL, on the first node, keep its answer, and print "behind PROCESS" for
# each process that has launched fewer operations than most.
# Source: NCCL User Guide, RAS: it listens on localhost:28028, or NCCL_RAS_ADDR, since 2.24.
print_nccl_answer() {
  local process address='' line most='' count=0 answer=$PSL_ATTEMPT_FOLDER/stall/nccl.txt
  ((${SLURM_NODEID-0} == 0)) || return 0
  for process in "${!PSL_TASK_OF[@]}"; do
    read_variable "$process" NCCL_RAS_ADDR
    address=${address:-$PSL_VARIABLE}
  done
  address=${address:-localhost:28028}
  has_listener "${address##*:}" || return 0
  # shellcheck disable=SC2016 # for the inner bash
  timeout 4 bash -pc 'exec 3<>"/dev/tcp/$0/$1" && printf "verbose status\n" >&3 && cat <&3' \
    "${address%:*}" "${address##*:}" >"$answer"
  while IFS= read -r line; do
    case $line in
      *'operation counts'*) most='' ;;
      *'have not launched any operations'* | *'has not launched any operations'*) count=0 ;;
    esac
    if [[ $line =~ launched\ up\ to\ operation\ ([0-9]+) ]]; then
      count=${BASH_REMATCH[1]}
      most=${most:-$count}
    fi
    if [[ $line =~ managed\ by\ process\ ([0-9]+) && $most ]] && ((count < most)); then
      printf 'behind %s\n' "${BASH_REMATCH[1]}"
    fi
  done <"$answer"
} 2>/dev/null

# has_listener PORT: succeed if a task listens on this TCP port.
has_listener() {
  local line here state socket port
  [[ $1 =~ ^[0-9]{1,5}$ ]] || return
  printf -v port %04X "$((10#$1))"
  for line in ${PSL_CONNECTIONS[@]+"${PSL_CONNECTIONS[@]}"}; do
    read -r _ here _ state _ _ _ _ _ socket _ <<<"$line"
    if [[ $state == 0A && $here == *:$port && ${PSL_SOCKET_TASK[${socket:-0}]-} ]]; then
      return 0
    fi
  done
  return 1
}

# read_variable PROCESS NAME: set PSL_VARIABLE to a variable with which a process started.
read_variable() {
  local setting
  PSL_VARIABLE=''
  while IFS= read -r -d '' setting; do
    [[ $setting != "$2="* ]] || PSL_VARIABLE=${setting#*=}
  done <"$proc/$1/environ"
} 2>/dev/null

# dump_flight_record PROCESS: let PyTorch write what its collectives did, if the job has asked for
# it; the file is where the job has said. Source: PyTorch, ProcessGroupNCCL, DumpPipe.
dump_flight_record() {
  local pipe
  read_variable "$1" TORCH_NCCL_DEBUG_INFO_PIPE_FILE
  pipe=$PSL_VARIABLE
  read_variable "$1" RANK
  pipe+=$PSL_VARIABLE.pipe
  if [[ -p $pipe && -O $pipe ]]; then
    printf '1\n' 1<>"$pipe"
  fi
} 2>/dev/null

# write_stall_details: write what was read to a file for each task.
write_stall_details() {
  local task process role index
  for task in "${!PSL_PROCESSES_OF[@]}"; do
    IFS=. read -r role index _ <<<"$task"
    {
      printf '%s\n\nprocess parent state waits-in name\n' "${PSL_FINDING[$task]-nothing stands out}"
      for process in ${PSL_PROCESSES_OF[$task]//,/ }; do
        printf '%s %s %s ' "$process" "${PSL_PARENT_OF[$process]}" "${PSL_PROCESS_STATE[$process]}"
        printf '%s %s\n' "${PSL_WAITS_IN[$process]-}" "${PSL_PROCESS_NAME[$process]}"
      done
      for process in ${PSL_PROCESSES_OF[$task]//,/ }; do
        printf '%s' "${PSL_STACKS[$process]-}"
      done
      printf '%s\n' ${PSL_CONNECTIONS[@]+"${PSL_CONNECTIONS[@]}"}
    } >"$PSL_ATTEMPT_FOLDER/stall/${PSL_ROLE_FOLDER[role]}.$index.txt"
  done
} 2>/dev/null
