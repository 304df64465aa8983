# Measure the processes, CPU time, memory and GPUs of tasks, for `paislurm top`.
#
# On a node, bash -c TEXT usage FOLDER ATTEMPT NODE:ROLE.SLOT ... runs TEXT at once in each of these
# tasks on this node, and prints `ROLE.SLOT LINE` for each line of its output. In a task, bash -c
# TEXT samples the processes with the task's control FIFO in their environment, twice, and prints
#   usage PROCESSES CPU_TICKS TICKS_BETWEEN CENTISECONDS_BETWEEN MEMORY_KIB
#   gpu INDEX UTILISATION MEMORY_MIB    for each GPU of the task, where nvidia-smi is there
# Source: proc(5), /proc/pid/stat, whose ticks are hundredths of a second for programs.

# measure_tasks FOLDER ATTEMPT NODE:ROLE.SLOT ...: measure the tasks on this node.
measure_tasks() {
  local folder=$1 attempt=$2 place line
  for place in "${@:3}"; do
    [[ ${place%:*} == "$SLURMD_NODENAME" ]] || continue
    bash -p "$folder/attempts/$attempt/job.sbatch" --relay "$folder" "$attempt" "${place##*:}" \
      "$BASH_EXECUTION_STRING" </dev/null 2>/dev/null |
      while read -r line; do
        printf '%s %s\n' "${place##*:}" "$line"
      done &
  done
  wait
}

# sample: set own_ticks to the CPU time of each process of the task, all_ticks to the sum with ended
# children, and pages to their memory.
sample() {
  local file process line
  local -a fields files
  own_ticks=() all_ticks=0 pages=0
  mapfile -t files < <(LC_ALL=C grep -lzxF -- "PAISLURM_CONTROL=$PAISLURM_CONTROL" /proc/[0-9]*/environ)
  for file in ${files[@]+"${files[@]}"}; do
    process=${file#/proc/} process=${process%/environ}
    read -r line <"/proc/$process/stat" || continue
    read -ra fields <<<"${line##*) }"
    # Skip this shell and its children.
    if ((process == $$ || fields[1] == $$)); then
      continue
    fi
    own_ticks[process]=$((fields[11] + fields[12]))
    all_ticks=$((all_ticks + own_ticks[process] + fields[13] + fields[14]))
    pages=$((pages + fields[21]))
  done
} 2>/dev/null

# read_uptime: set uptime to hundredths of a second.
read_uptime() {
  read -r uptime _ </proc/uptime
  uptime=$((10#${uptime/./}))
}

measure_own() {
  local process uptime began all_ticks pages between=0
  local -a own_ticks before
  sample
  read_uptime
  before=() began=$uptime
  for process in "${!own_ticks[@]}"; do
    before[process]=${own_ticks[process]}
  done
  sleep 1
  sample
  read_uptime
  for process in "${!own_ticks[@]}"; do
    if [[ ${before[process]-} ]]; then
      between=$((between + own_ticks[process] - before[process]))
    fi
  done
  printf 'usage %d %d %d %d %d\n' "${#own_ticks[@]}" "$all_ticks" "$between" "$((uptime - began))" \
    "$((pages * ($(getconf PAGESIZE 2>/dev/null || echo 4096) / 1024)))"
  measure_gpus
}

# measure_gpus: print the use of the task's GPUs, from the program of their vendor.
measure_gpus() {
  local index utilisation memory
  if [[ ! ${CUDA_VISIBLE_DEVICES-} || $CUDA_VISIBLE_DEVICES == NoDevFiles ]] || ! command -v nvidia-smi >/dev/null; then
    return 0
  fi
  nvidia-smi -i "$CUDA_VISIBLE_DEVICES" --query-gpu=index,utilization.gpu,memory.used \
    --format=csv,noheader,nounits 2>/dev/null |
    while IFS=', ' read -r index utilisation memory; do
      printf 'gpu %s %s %s\n' "$index" "$utilisation" "$memory"
    done
}

if (($#)); then
  measure_tasks "$@"
else
  measure_own
fi
