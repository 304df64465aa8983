# Ask the frameworks of the tasks of a node what they wait for: MPI, Python, PyTorch and NCCL. The
# caller has `proc`.

# By process: its stack. The innermost function, and the MPI library, of the one asked last.
declare -A PSL_STACKS=()
PSL_FUNCTION='' PSL_LIBRARY=''
# A line of eu-stack about a function of MPI, or the first function of a program.
readonly PSL_FRAME='^#[0-9]+ +0x[0-9a-f]+ +P?(MPI_[A-Za-z0-9_]+|main$|__libc_start_main)'

# read_variable PROCESS NAME: set PSL_VALUE to a variable with which a process started.
read_variable() {
  local setting
  PSL_VALUE=''
  while IFS= read -r -d '' setting; do
    [[ $setting != "$2="* ]] || PSL_VALUE=${setting#*=}
  done <"$proc/$1/environ"
} 2>/dev/null

# read_python PROCESS: set PSL_FUNCTION to the innermost function of the main thread,
# "NAME@FILE:LINE", '' if unknown. py-spy may be only in the PATH of the process; it reads the
# memory, and does not stop the process. Source: py-spy dump --help.
read_python() {
  local line
  PSL_FUNCTION=''
  read_variable "$1" PATH
  while IFS= read -r line; do
    if [[ ! $PSL_FUNCTION && $line =~ ^\ +([^ ]+)\ \((.*)\)$ ]]; then
      PSL_FUNCTION=${BASH_REMATCH[1]}@${BASH_REMATCH[2]}
      PSL_FUNCTION=${PSL_FUNCTION//[^A-Za-z0-9._:@+\/-]/_}
    fi
    PSL_STACKS[$1]+=$line$'\n'
  done < <(PATH=$PATH:$PSL_VALUE timeout 3 py-spy dump --nonblocking --pid "$1" |
    sed -n '/MainThread/,/^Thread/p')
} 2>/dev/null

# read_mpi PROCESS: set PSL_LIBRARY to the MPI library of a running process, '' for none, because
# MPI waits by computing; and PSL_FUNCTION to the function of MPI that the program has called,
# "NAME@LIBRARY", '' if unknown. eu-stack may be only in the PATH of the process, and stops it for
# a moment; one that waits for a disk could stay stopped. In a container it would read the libraries
# of the node; debuginfod would take too long, as would gdb. Source: ptrace(2), PTRACE_ATTACH.
read_mpi() {
  local line name=''
  PSL_FUNCTION='' PSL_LIBRARY=$(grep -o -m 1 '/libmpi[a-z_]*\.so[.0-9]*' "$proc/$1/maps")
  PSL_LIBRARY=${PSL_LIBRARY#/}
  [[ $PSL_LIBRARY && $proc/$1/ns/mnt -ef $proc/self/ns/mnt ]] && ((SECONDS < 4)) || return 0
  read_variable "$1" PATH
  while IFS= read -r line; do
    PSL_STACKS[$1]+=$line$'\n'
    [[ $line =~ $PSL_FRAME ]]
    # Only a stack up to the main function is complete.
    case ${BASH_REMATCH[1]-} in
      MPI_*) name=${BASH_REMATCH[1]} ;;
      ?*) PSL_FUNCTION=${name:-code_outside_MPI}@$PSL_LIBRARY ;;
    esac
  done < <(PATH=$PATH:$PSL_VALUE timeout 2 env -u DEBUGINFOD_URLS eu-stack -1 -p "$1")
} 2>/dev/null

# dump_flight_record PROCESS: let PyTorch write what its collectives did, if the job has asked for
# it; the file is where the job has said. Source: PyTorch, ProcessGroupNCCL, DumpPipe.
dump_flight_record() {
  local pipe
  read_variable "$1" TORCH_NCCL_DEBUG_INFO_PIPE_FILE
  pipe=$PSL_VALUE
  read_variable "$1" RANK
  pipe+=$PSL_VALUE.pipe
  if [[ -p $pipe && -O $pipe ]]; then
    printf '1\n' 1<>"$pipe"
  fi
} 2>/dev/null

# print_nccl_answer: ask NCCL, on the first node, if a task listens; keep its answer, and print
# "behind PROCESS" for each process that has launched fewer operations than most.
# Source: NCCL User Guide, RAS: it listens on localhost:28028, or NCCL_RAS_ADDR, since 2.24.
print_nccl_answer() {
  local process address='' port line most='' count=0 answer=$PSL_ATTEMPT_FOLDER/stall/nccl.txt
  ((${SLURM_NODEID-0} == 0)) || return 0
  for process in "${!PSL_TASK_OF[@]}"; do
    read_variable "$process" NCCL_RAS_ADDR
    address=${address:-$PSL_VALUE}
  done
  address=${address:-localhost:28028}
  [[ ${address##*:} =~ ^[0-9]{1,5}$ ]] || return 0
  printf -v port %04X "$((10#${address##*:}))"
  [[ $PSL_LISTENERS == *" $port "* ]] || return 0
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
      send 1 behind "${BASH_REMATCH[1]}"
    fi
  done <"$answer"
} 2>/dev/null
