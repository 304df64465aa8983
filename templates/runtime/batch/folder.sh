# Open the run folder and claim the attempt. One Slurm job runs an attempt; any other is a
# duplicate.

# open_folder [FOLDER ATTEMPT TAG]: enter the folder of the attempt. `paislurm submit` passes the
# arguments; without them this is a run by hand.
open_folder() {
  PSL_SUBMIT_DIR=${SLURM_SUBMIT_DIR:-$PWD}
  if (($#)); then
    PSL_FOLDER=$1 PSL_ATTEMPT=$2
    PSL_ATTEMPT_FOLDER=$PSL_FOLDER/attempts/$PSL_ATTEMPT
    PSL_SCRIPT=$PSL_ATTEMPT_FOLDER/job.sbatch
    PSL_SECRETS_FOLDER=$PSL_FOLDER/secrets
    check_shared_folder
    check_own_attempt
    # The working directory of a retry is that of the monitor that submitted it.
    if [[ -e $PSL_FOLDER/submit-dir ]]; then
      IFS= read -r -d '' PSL_SUBMIT_DIR <"$PSL_FOLDER/submit-dir"
    fi
    # So is its umask.
    if [[ -s $PSL_FOLDER/umask ]]; then
      read -r PSL_UMASK <"$PSL_FOLDER/umask"
    fi
    enter_attempt
    check_own_name "$3"
    claim_attempt
  else
    make_folder_by_hand "$PSL_SUBMIT_DIR"
    enter_attempt
  fi
  handle_pending_signals
  lay_out_attempt || die "cannot write to $PSL_ATTEMPT_FOLDER"
  check_secrets  # only: secrets
}

# check_shared_folder: end if this node does not see the run folder. Slurm makes the folders of its
# log, so an empty folder of that name may exist. Nobody reads a result in it, so only the exit
# status reports the error.
check_shared_folder() {
  if [[ ! -e $PSL_SCRIPT ]]; then
    log "error: $SLURMD_NODENAME does not see $PSL_FOLDER, which all nodes have to share"
    exit 6
  fi
}

# check_own_attempt: end if another user could have replaced the attempt's folder while the job
# waited: tasks run the copy of this script in that folder. Ignore empty lines in the comparison:
# sbatch omits those of a heterogeneous job's script.
check_own_attempt() {
  local path mode number=0
  local -a paths=("$PSL_FOLDER" "$PSL_FOLDER/attempts" "$PSL_ATTEMPT_FOLDER" "$PSL_SCRIPT")
  for path in "${paths[@]}"; do
    is_own_folder "$path" || refuse_folder "$path is another user's, or a link"
  done
  while read -r mode; do
    path=${paths[number]} number=$((number + 1))
    ! ((8#$mode & 8#22)) || refuse_folder "other users can write to $path (chmod go-w)"
  done < <(stat -c %a -- "${paths[@]}")
  [[ $(<"$PSL_SCRIPT") == "$(<"$0")" ]] ||
    [[ $(grep -av '^$' -- "$PSL_SCRIPT") == "$(grep -av '^$' -- "$0")" ]] ||
    refuse_folder "$PSL_SCRIPT is not the script that was submitted"
}

# enter_attempt: change to the attempt's folder, which contains all files of the attempt.
enter_attempt() {
  cd -- "$PSL_ATTEMPT_FOLDER" || die "cannot enter $PSL_ATTEMPT_FOLDER"
  PSL_ENTERED=1
}

# check_own_name TAG: end if the folder was deleted by hand, and another job has its name since. The
# journal of a job has its tag before the submit. A cluster behind ssh has no journal.
check_own_name() {
  local status=0
  [[ -e ../../journal.jsonl ]] || return 0
  grep -aqF -- "\"${1%%.*}" ../../journal.jsonl || status=$?
  if [[ $status == 1 ]]; then
    log "$PSL_FOLDER is another job's now; nothing has run"
    exit 5
  fi
}

# make_folder_by_hand PARENT: make the run folder of a run by hand. Refuse an existing folder,
# because others can guess its name.
make_folder_by_hand() {
  local why
  PSL_FOLDER=$1/$PSL_JOB_NAME-$SLURM_JOB_ID PSL_ATTEMPT=0
  PSL_ATTEMPT_FOLDER=$PSL_FOLDER/attempts/$PSL_ATTEMPT
  PSL_SCRIPT=$PSL_ATTEMPT_FOLDER/job.sbatch
  PSL_SECRETS_FOLDER=$1/$PSL_JOB_NAME.secrets
  if why=$(replaceable "$PSL_FOLDER"); then
    refuse_folder "others could replace the run folder, because $why: submit the script from a\
 folder that only you can change, as your home, or use \`paislurm submit\`"
  fi
  mkdir -m 700 -- "$PSL_FOLDER" || refuse_folder \
    "the run folder $PSL_FOLDER is there already, or cannot be made: submit the script again"
  make_folders "$PSL_ATTEMPT_FOLDER" || die "cannot write to $PSL_FOLDER"
  cp -- "$0" "$PSL_SCRIPT" || die "cannot write to $PSL_FOLDER"
  log "the run folder is $PSL_FOLDER"
}

# refuse_folder REASON: end a run that has no folder for a result.
refuse_folder() {
  log "error: $1; nothing has run"
  exit 4
}

# claim_attempt: claim the attempt for this job, or end the job if the attempt has another owner.
# A removal may rename the folder at any moment, so no path begins with its name.
claim_attempt() {
  local me restarts=${SLURM_RESTART_COUNT:-0} owner='' owner_restarts=0
  # The job's name for sbatch and the monitor. Without Slurm no other cluster exists.
  me=$SLURM_JOB_ID
  if [[ $PSL_CLUSTER && ${SLURM_CLUSTER_NAME-} == "$PSL_CLUSTER" ]]; then
    me+=";$PSL_CLUSTER"
  fi
  # If NFS loses the answer to mkdir, the folder exists already. The server repeats an exclusive
  # creation. Source: RFC 1813, 3.3.8.
  mkdir -- claim 2>/dev/null || true
  if (set -o noclobber && : >claim/owner) 2>/dev/null; then
    printf '%s %s\n' "$me" "$restarts" >claim/owner ||
      die "cannot write to $PSL_ATTEMPT_FOLDER"
    PSL_CLAIMED=1
    return
  fi
  [[ -e claim/owner ]] || die "cannot write to $PSL_ATTEMPT_FOLDER"
  read -r owner owner_restarts <claim/owner 2>/dev/null || true
  if [[ $owner == "$me" && $owner_restarts != "$restarts" ]]; then
    if grep -q '^ "outcome": "\(succeeded\|failed\)"' result.json 2>/dev/null; then
      # A controller that was killed, or a node that was lost, may not have known of the end.
      log "the attempt had ended when Slurm restarted the job; its result stays"
      exit 5
    fi
    if take_over_attempt "$me" "$restarts"; then  # only: requeue
      return 0  # only: requeue
    fi  # only: requeue
    decide requeued -100 transient "Slurm restarted the job; a retry is a fresh attempt"
    write_result
    exit 3
  fi
  owner=${owner:-unknown}
  log "attempt $PSL_ATTEMPT belongs to job $owner; this job, $me, is a duplicate and ends"
  exit 5
}

# lay_out_attempt: make the folders of all roles, and write the scripts of each role to files. Tasks
# make their own folders: for thousands of tasks one process would take seconds.
lay_out_attempt() {
  local role name
  local -a folders=(bin commands srun tasks)
  for role in "${!PSL_ROLE_NAME[@]}"; do
    name=${PSL_ROLE_FOLDER[role]}
    folders+=("logs/$name" "work/$name")
    [[ ${PSL_HOOKS_BEFORE[role]-}${PSL_HOOKS_AFTER[role]-} ]] &&  # only: hooks
      folders+=("tasks/$name")  # only: hooks
  done
  make_folders "${folders[@]}" || return
  for role in "${!PSL_ROLE_NAME[@]}"; do
    write_scripts "$role" || return
  done
}

# write_scripts ROLE: write the commands and each hook of a role to separate files.
write_scripts() {
  local file=commands/${PSL_ROLE_FOLDER[$1]}
  "commands_of_role_$1" >"$file.sh" || return
  write_hooks "$1"  # only: hooks
}

# die REASON [CODE BEHAVIOUR]: end the job before any task ran, for a reason outside of the user's
# commands.
die() {
  handle_pending_signals
  explain_full "$1"
  log "error: $PSL_EXPLAINED"
  if [[ $PSL_FULL ]]; then
    decide failed -1406 unknown "$PSL_EXPLAINED"
  else
    decide failed "${2:-255}" "${3:-unknown}" "$1"
  fi
  write_result
  clean_up_nodes
  exit "$((PSL_FULL ? 7 : 4))"
}
