# The run folder and the claim on it: one Slurm job runs an attempt, any other is a duplicate.

# open_folder FOLDER ATTEMPT TAG, as `paislurm submit` calls the script; without arguments this is a run by hand.
open_folder() {
  PSL_SUBMIT_DIR=${SLURM_SUBMIT_DIR:-$PWD}
  if (($#)); then
    PSL_FOLDER=$1 PSL_ATTEMPT=$2
    # A monitor submits a retry from wherever it runs.
    if [[ -e $PSL_FOLDER/submit-dir ]]; then
      IFS= read -r -d '' PSL_SUBMIT_DIR <"$PSL_FOLDER/submit-dir"
    fi
    PSL_ATTEMPT_FOLDER=$PSL_FOLDER/attempts/$PSL_ATTEMPT
    PSL_SCRIPT=$PSL_ATTEMPT_FOLDER/job.sbatch
    PSL_SECRETS_FOLDER=$PSL_FOLDER/secrets
    enter_attempt
    claim_attempt
  else
    make_folder_by_hand "$PSL_SUBMIT_DIR"
    enter_attempt
  fi
  handle_pending_signals
  lay_out_attempt || die "cannot write to $PSL_ATTEMPT_FOLDER"
  if [[ $PSL_SECRET_NAMES ]]; then
    check_secrets
  fi
}

enter_attempt() {
  cd -- "$PSL_ATTEMPT_FOLDER" || die "cannot enter $PSL_ATTEMPT_FOLDER"
  PSL_ENTERED=1
}

# make_folder_by_hand PLACE: its name can be guessed, so whoever was faster has it, and this job has none.
make_folder_by_hand() {
  PSL_FOLDER=$1/$PSL_JOB_NAME-$SLURM_JOB_ID PSL_ATTEMPT=0
  PSL_ATTEMPT_FOLDER=$PSL_FOLDER/attempts/$PSL_ATTEMPT
  PSL_SCRIPT=$PSL_ATTEMPT_FOLDER/job.sbatch
  PSL_SECRETS_FOLDER=$1/$PSL_JOB_NAME.secrets
  check_place "$1"
  mkdir -- "$PSL_FOLDER" || refuse_folder "the run folder $PSL_FOLDER is there already, or cannot be made: submit the script again"
  { make_folders "$PSL_ATTEMPT_FOLDER" && cp -- "$0" "$PSL_SCRIPT"; } || die "cannot write to $PSL_FOLDER"
  log "the run folder is $PSL_FOLDER"
}

# check_place PLACE: nobody else can put another folder in the place of one that is made there. The user's own group is one
# of the user's name; who shares a group trusts it with the folders above.
check_place() {
  local path=$1 owner mode others group user=${SLURM_JOB_USER:-} number=0
  local -a paths=("$1")
  [[ $user ]] || user=$(id -un)
  while [[ $path == */* && ${path%/*} ]]; do path=${path%/*} paths+=("$path"); done
  while read -r owner mode group; do
    path=${paths[number]} number=$((number + 1))
    if [[ $path == "$1" && $owner != 0 && ! -O $path ]]; then
      refuse_folder "$path belongs to another user: submit the script from a folder of your own"
    fi
    # The sticky bit lets only owners remove what is in a folder.
    ((!(8#$mode & 8#1000))) || continue
    others=8#2
    [[ $path != "$1" || $group == "$user" ]] || others=8#22
    ((!(8#$mode & others))) ||
      refuse_folder "other users can write to $path: submit the script from a folder of your own, or mend that one (chmod go-w)"
  done < <(stat -L -c '%u %a %G' -- "${paths[@]}")
}

# There is no folder to write a result to.
refuse_folder() {
  log "error: $1; nothing has run"
  exit 4
}

claim_attempt() {
  local me=$SLURM_JOB_ID restarts=${SLURM_RESTART_COUNT:-0} owner='' owner_restarts=0
  if mkdir -- "$PSL_ATTEMPT_FOLDER/claim" 2>/dev/null; then
    printf '%s %s\n' "$me" "$restarts" >"$PSL_ATTEMPT_FOLDER/claim/owner" && return
    die "cannot write to $PSL_ATTEMPT_FOLDER"
  fi
  [[ -d $PSL_ATTEMPT_FOLDER/claim ]] || die "cannot write to $PSL_ATTEMPT_FOLDER"
  read -r owner owner_restarts <"$PSL_ATTEMPT_FOLDER/claim/owner" 2>/dev/null || true
  if [[ $owner == "$me" && $owner_restarts != "$restarts" ]]; then
    decide requeued -100 transient "Slurm restarted the job; a retry is a fresh attempt"
    write_result
    exit 3
  fi
  log "attempt $PSL_ATTEMPT belongs to job ${owner:-unknown}; this job, $me, is a duplicate and ends"
  exit 5
}

# The folders of all tasks, and what each role runs in files of its own.
lay_out_attempt() {
  local role index
  local -a folders=(bin commands srun)
  for role in "${!PSL_ROLE_NAME[@]}"; do
    folders+=("tasks/${PSL_ROLE_FOLDER[role]}")
    for ((index = 0; index < PSL_INSTANCES[role]; index++)); do
      folders+=("logs/${PSL_ROLE_FOLDER[role]}/$index" "work/${PSL_ROLE_FOLDER[role]}/$index")
    done
  done
  make_folders "${folders[@]}" || return
  for role in "${!PSL_ROLE_NAME[@]}"; do
    write_scripts "$role" || return
  done
}

# Write each script of a role into a file of its own, and the commands.
write_scripts() {
  local role=$1 word moment number file
  file=commands/${PSL_ROLE_FOLDER[role]}
  "commands_of_role_$role" >"$file.sh" || return
  for word in ${PSL_HOOKS_BEFORE[role]-} ${PSL_HOOKS_AFTER[role]-}; do
    IFS=. read -r moment number _ <<<"$word"
    "${moment}_${number}_of_role_$role" >"$file.$moment.$number.sh" || return
  done
}

# Something outside the user's commands went wrong before any task ran: say so, and end.
die() {
  handle_pending_signals
  log "error: $1"
  decide failed "${2:-255}" "${3:-unknown}" "$1"
  write_result
  clean_up_nodes
  exit 4
}
