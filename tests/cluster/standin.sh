#!/bin/bash
# Stands in for the program of its name: logs how a task called it, and does no more of its work than the job needs.
name=${0##*/}

real() { exec "/usr/bin/$name" "$@"; }

# The batch script's own calls, and those of the runtime in a task.
[[ ${PAI_TASK_INDEX-} ]] || real "$@"
case "$name $*" in
  'rm /usr/local/cuda/'* | 'mkdir --parents /pai_data/'*) ;;
  'mkdir -p /dataset/'* | 'ls -la /dataset/'*) ;;
  'rm '* | 'mkdir '* | 'ls '*) real "$@" ;;
esac

task=$PAI_CURRENT_TASK_ROLE_NAME-$PAI_TASK_INDEX
printf '%s\n' "$name ${*@Q}" >>"$STANDIN_LOG/$task.calls"
# A sleep beside a training has nothing of what mpirun gives its ranks.
[[ $name == sleep ]] || env | grep -E '^(PAI|NCCL|HOROVOD)_' >"$STANDIN_LOG/$task.env"

case "$name $*" in
  'wget -qO- '* | 'wget '*' -P '*) ;;
  'wget '*) touch -- "${*##*/}" ;;
  'tar '*) /usr/bin/mkdir cifar-10-batches-py ;;
  'git '* | 'pip '*) [[ ! $STANDIN_FOLDERS ]] || /usr/bin/mkdir -p -- "$STANDIN_FOLDERS" ;;
  'sleep infinity' | python*' --job_name=ps '*) exec /usr/bin/sleep infinity ;;
  'python cifar10-single-mul-DDP-nccl-gloo.py '* | 'python pytorch_synthetic_benchmark.py '*)
    read -ra training <<<"$STANDIN_TRAINING"
    exec "${training[@]}" "${@:2}"
    ;;
  python*' --job_name=worker '*)
    # A server that never comes is a task that never ends, and the test's time-out.
    until grep -qs -- "--job_name=ps" "$STANDIN_LOG"/*.calls; do /usr/bin/sleep 0.05; done
    ;;
esac
