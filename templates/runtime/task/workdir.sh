# Enter the folder in which the commands start, if it is not the task's folder.

# enter_workdir: change from the task's folder to the folder in which the commands start.
enter_workdir() {
  local folder=${PSL_WORKDIR[PSL_ROLE]} where=$SLURMD_NODENAME
  if [[ $folder == submit ]]; then
    folder=$PSL_SUBMIT_DIR
  elif [[ $folder == ./* ]]; then
    folder=${PSL_SUBMIT_DIR%/}/${folder#./}
  fi
  if cd -- "$folder" 2>/dev/null; then
    return 0
  fi
  if [[ $PSL_CONTAINER_RUNTIME != none ]]; then
    where="$where, in the container"
  fi
  if [[ -d $folder ]]; then
    log "error: the folder $folder cannot be entered on $where (extras.slurm.workdir)"
  else
    log "error: there is no folder $folder on $where (extras.slurm.workdir)"
  fi
  return 1
}
