# The run folder and the claim on it: one Slurm job runs an attempt, any other is a duplicate.

# open_folder FOLDER ATTEMPT TAG, as `paislurm submit` calls the script; without arguments this is a run by hand.
open_folder() {
  SUBMIT_DIR=${SLURM_SUBMIT_DIR:-$PWD}
  if (($#)); then
    FOLDER=$1 ATTEMPT=$2
    # A monitor submits a retry from wherever it runs.
    [[ ! -e $FOLDER/submit-dir ]] || IFS= read -r -d '' SUBMIT_DIR <"$FOLDER/submit-dir"
    ATTEMPT_FOLDER=$FOLDER/attempts/$ATTEMPT
    SCRIPT=$ATTEMPT_FOLDER/job.sbatch
    SECRETS_FOLDER=$FOLDER/secrets
    enter_attempt
    claim_attempt
  else
    make_folder_by_hand "$SUBMIT_DIR"
    enter_attempt
  fi
  heed_signals
  lay_out_attempt || give_up "cannot write to $ATTEMPT_FOLDER"
  check_secrets
}

enter_attempt() {
  cd -- "$ATTEMPT_FOLDER" || give_up "cannot enter $ATTEMPT_FOLDER"
  ENTERED=1
}

# make_folder_by_hand PLACE: its name can be guessed, so whoever was faster has it, and this job has none.
make_folder_by_hand() {
  FOLDER=$1/$JOB_NAME-$SLURM_JOB_ID ATTEMPT=0
  ATTEMPT_FOLDER=$FOLDER/attempts/$ATTEMPT
  SCRIPT=$ATTEMPT_FOLDER/job.sbatch
  SECRETS_FOLDER=$1/$JOB_NAME.secrets
  check_place "$1"
  mkdir -- "$FOLDER" || turn_away "the run folder $FOLDER is there already, or cannot be made: submit the script again"
  { make_folders "$ATTEMPT_FOLDER" && cp -- "$0" "$SCRIPT"; } || give_up "cannot write to $FOLDER"
  say "the run folder is $FOLDER"
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
      turn_away "$path belongs to another user: submit the script from a folder of your own"
    fi
    # The sticky bit lets only owners remove what is in a folder.
    ((!(8#$mode & 8#1000))) || continue
    others=8#2
    [[ $path != "$1" || $group == "$user" ]] || others=8#22
    ((!(8#$mode & others))) ||
      turn_away "other users can write to $path: submit the script from a folder of your own, or mend that one (chmod go-w)"
  done < <(stat -L -c '%u %a %G' -- "${paths[@]}")
}

# There is no folder to write a result to.
turn_away() {
  say "error: $1; nothing has run"
  exit 4
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
  local name missing='' open='' mode
  for name in ${SECRET_NAMES-}; do
    if [[ ! -f $SECRETS_FOLDER/$name || ! -r $SECRETS_FOLDER/$name ]]; then
      missing+=" $SECRETS_FOLDER/$name"
    elif mode=$(stat -L -c %a -- "$SECRETS_FOLDER/$name") && [[ ! -O $SECRETS_FOLDER/$name || $mode != [46]00 ]]; then
      open+=" $SECRETS_FOLDER/$name"
    fi
  done
  [[ ! $missing ]] || give_up "each secret of the job stands in a file of its own, its exact text; not there:$missing"
  [[ ! $open ]] || give_up "the file of a secret must be yours and nobody else's to read (chmod 600):$open"
}

# A run by hand has its secrets in a folder of the user's own, which stays as it is. By name it may be another job's by now.
forget_secrets() {
  [[ ! ${SECRET_NAMES-} || $SECRETS_FOLDER != "$FOLDER/secrets" ]] || rm -rf -- ../../secrets
}

# Something outside the user's commands went wrong before any task ran: say so, and end.
give_up() {
  heed_signals
  say "error: $1"
  decide failed "${2:-255}" "${3:-unknown}" "$1"
  write_result
  sweep_nodes
  exit 4
}
