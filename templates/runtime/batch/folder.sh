# The run folder and the claim on it: one Slurm job runs an attempt, any other is a duplicate.

# open_folder FOLDER ATTEMPT TAG, as `paislurm submit` calls the script; without arguments this is a run by hand.
open_folder() {
  umask 0077
  if (($#)); then
    FOLDER=$1 ATTEMPT=$2
    ATTEMPT_FOLDER=$FOLDER/attempts/$ATTEMPT
    SCRIPT=$ATTEMPT_FOLDER/job.sbatch
    SECRETS_FOLDER=$FOLDER/secrets
    claim_attempt
  else
    FOLDER=${SLURM_SUBMIT_DIR:-$PWD}/$JOB_NAME-$SLURM_JOB_ID ATTEMPT=0
    ATTEMPT_FOLDER=$FOLDER/attempts/$ATTEMPT
    SCRIPT=$ATTEMPT_FOLDER/job.sbatch
    SECRETS_FOLDER=${SLURM_SUBMIT_DIR:-$PWD}/$JOB_NAME.secrets
    { make_folders "$ATTEMPT_FOLDER" && cp -- "$0" "$SCRIPT"; } || give_up "cannot write to ${SLURM_SUBMIT_DIR:-$PWD}"
    say "the run folder is $FOLDER"
  fi
  cd -- "$ATTEMPT_FOLDER" || give_up "cannot enter $ATTEMPT_FOLDER"
  lay_out_attempt || give_up "cannot write to $ATTEMPT_FOLDER"
  check_secrets
}

claim_attempt() {
  local me=$SLURM_JOB_ID restarts=${SLURM_RESTART_COUNT:-0} owner='' owner_restarts=0
  if mkdir -- "$ATTEMPT_FOLDER/claim" 2>/dev/null; then
    printf '%s %s\n' "$me" "$restarts" >"$ATTEMPT_FOLDER/claim/owner" && return
    give_up "cannot write to $ATTEMPT_FOLDER"
  fi
  [[ -d $ATTEMPT_FOLDER/claim ]] || give_up "cannot write to $ATTEMPT_FOLDER"
  read -r owner owner_restarts <"$ATTEMPT_FOLDER/claim/owner" 2>/dev/null || true
  if [[ $owner == "$me" && $owner_restarts != "$restarts" ]]; then
    decide requeued -100 transient "Slurm restarted the job; a retry is a fresh attempt"
    write_result
    exit 3
  fi
  say "attempt $ATTEMPT belongs to job ${owner:-unknown}; this job, $me, is a duplicate and ends"
  exit 5
}

# The folders of all tasks, and what each role runs in files of its own.
lay_out_attempt() {
  local role index
  local -a folders=(bin commands srun)
  for role in "${!ROLE_NAME[@]}"; do
    folders+=("tasks/${ROLE_FOLDER[role]}")
    for ((index = 0; index < INSTANCES[role]; index++)); do
      folders+=("logs/${ROLE_FOLDER[role]}/$index" "work/${ROLE_FOLDER[role]}/$index")
    done
  done
  make_folders "${folders[@]}" || return
  for role in "${!ROLE_NAME[@]}"; do
    write_scripts "$role" || return
  done
}

# Write each script of a role into a file of its own, and the commands.
write_scripts() {
  local role=$1 word moment number file
  file=commands/${ROLE_FOLDER[role]}
  "commands_of_role_$role" >"$file.sh" || return
  for word in ${BEFORE[role]-} ${AFTER[role]-}; do
    IFS=. read -r moment number _ <<<"$word"
    "${moment}_${number}_of_role_$role" >"$file.$moment.$number.sh" || return
  done
}

# Before anything starts, on the batch node: all are there, and nobody else can read them.
check_secrets() {
  local name missing='' open='' line
  for name in ${SECRET_NAMES-}; do
    if [[ ! -f $SECRETS_FOLDER/$name || ! -r $SECRETS_FOLDER/$name ]]; then
      missing+=" $SECRETS_FOLDER/$name"
    elif line=$(stat -L -c '%u %a' -- "$SECRETS_FOLDER/$name") && [[ $line != "$UID "[46]00 ]]; then
      open+=" $SECRETS_FOLDER/$name"
    fi
  done
  [[ ! $missing ]] || give_up "each secret of the job stands in a file of its own, its exact text; not there:$missing"
  [[ ! $open ]] || give_up "the file of a secret must be yours and nobody else's to read (chmod 600):$open"
}

# A run by hand has its secrets in a folder of the user's own, which stays as it is.
forget_secrets() {
  [[ ! ${SECRET_NAMES-} || $SECRETS_FOLDER != "$FOLDER/secrets" ]] || rm -rf -- "$SECRETS_FOLDER"
}

# Something outside the user's commands went wrong before any task ran: say so, and end.
give_up() {
  say "error: $1"
  decide failed "${2:-255}" "${3:-unknown}" "$1"
  write_result
  sweep_nodes
  exit 4
}
