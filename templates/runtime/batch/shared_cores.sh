# Make srun share cores for a role with an odd number of CPUs for each task.

# find_shared_cores: note in PSL_SHARES_CORES the roles whose srun must share cores. Before Slurm
# 24.11 an allocation counts the CPUs of all tasks together, but a step counts whole cores for each
# task: three tasks of 3 CPUs on cores with two threads get 5 cores and wait forever for a sixth.
# Source: observed on 22.05 and 24.11.
find_shared_cores() {
  local role
  [[ ${PSL_ODD_CPUS[*]-} ]] || return 0
  [[ $(srun --version) =~ \ ([0-9]+)\.([0-9]+) ]] || return 0
  ((10#${BASH_REMATCH[1]}${BASH_REMATCH[2]} < 2411)) || return 0
  [[ $(scontrol --oneliner show node "$SLURMD_NODENAME") =~ ThreadsPerCore=[2-9] ]] || return 0
  for role in "${!PSL_ODD_CPUS[@]}"; do
    PSL_SHARES_CORES[role]=1
  done
}
