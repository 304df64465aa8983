# Launches that fail: steps, or tasks of them, that end before they have begun. That is never the failure of the user's
# commands: no completion policy and no retry of tasks counts it. It ends the job, and srun's own words say why.

# What srun says where it asks Slurm for no step, because of its command line.
# Source: slurm_opt.c of Slurm, getopt_long(3); observed on 22.05.
readonly REFUSED='^srun: ((error|fatal): .*(--[a-z]|incompatible|mutually exclusive|specification|het-group|mpi/|No command)|(unrecognized|unknown|invalid|ambiguous) option|option )'
# What it says where Slurm or a node does not start one.
readonly UNLAUNCHED='^srun: .*(Unable to (create|confirm)|[Ll]aunch(ing)? .*failed|has expired|ommunication|[Cc]onnection|[Tt]imed out|[Cc]redential|[Pp]rotocol)'
readonly UNLAUNCHED_ON='^srun: error: Task launch for .* failed on node ([^ :]+): (.*)$'
# What tells nothing of the cause.
readonly UNTOLD='^srun: (warning: |Job step aborted|Force Terminated|Try |.*step creation|Step created)|^slurmstepd-[^ ]+: error: \*\*\* '

# explain_launch LOG STATUS: what srun said when it ended so: LAUNCH is "CODE BEHAVIOUR", LAUNCH_WORDS its first errors,
# LAUNCH_NODE the node that it blames. False, and no LAUNCH, where it does not speak of a launch.
explain_launch() {
  # Words of any encoding become text that result.json can hold.
  local line='' count=0 told=0 LC_ALL=C
  LAUNCH='' LAUNCH_NODE='' LAUNCH_WORDS=''
  [[ ! -r $1 ]] || while ((count++ < 1000)) && { IFS= read -r -n 1000 line || [[ $line ]]; }; do
    line=${line//[![:print:]]/?}
    if [[ $line =~ $UNLAUNCHED_ON ]]; then
      LAUNCH_NODE=${BASH_REMATCH[1]}
      set_launch_of "${BASH_REMATCH[2]}"
    elif [[ $line =~ $UNLAUNCHED ]]; then
      [[ $LAUNCH == *transient ]] || LAUNCH='-1402 transient'
    elif [[ ! $LAUNCH && $line =~ $REFUSED ]]; then
      LAUNCH='-1401 permanent'
    fi
    [[ ! $line =~ $UNTOLD ]] || continue
    line=${line#srun: } line=${line#error: } line=${line#fatal: }
    ((told++ > 2)) || LAUNCH_WORDS+=${LAUNCH_WORDS:+; }${line:0:200}
  done <"$1"
  if [[ ! $LAUNCH_WORDS ]] && (($2 > 128)); then
    LAUNCH='-1402 transient' LAUNCH_WORDS="srun was killed by signal $(($2 - 128)) and said nothing"
  elif (($2 == 126 || $2 == 127)); then
    LAUNCH=${LAUNCH:-'-1402 transient'}
  fi
  LAUNCH_WORDS=${LAUNCH_WORDS:-srun ended with status $2 and said nothing}
  [[ $LAUNCH ]]
}

# set_launch_of WORDS: by what srun says of a node, the Prolog has failed there or something else.
set_launch_of() {
  if [[ $1 == *[Pp]rolog\ failed* ]]; then LAUNCH='-1403 transient'; else LAUNCH='-1402 transient'; fi
}

# end_by_launch WHAT: the launch that was explained ends the job. Tasks that were to begin on the node that is to blame
# have failed, so that the next attempt leaves it out; the others never were.
end_by_launch() {
  local role slot task where=${LAUNCH_NODE:+ on node $LAUNCH_NODE} reason
  for role in "${!NODES_OF[@]}"; do
    nodes_of "$role"
    for ((slot = 0; slot < INSTANCES[role]; slot++)); do
      task=$role.$slot
      [[ $LAUNCH_NODE && ${NODES[slot]-} == "$LAUNCH_NODE" && ! ${STATE[$task]-} ]] || continue
      STATE[$task]=failed CODE_OF[$task]=${LAUNCH% *} BEHAVIOUR_OF[$task]=${LAUNCH#* } NODE_OF[$task]=$LAUNCH_NODE
    done
  done
  case $LAUNCH in
    -1401*) reason="srun refused to start $1, which is no failure of the job's own: $LAUNCH_WORDS" ;;
    -1403*) reason="$1 could not be started, because the Prolog failed$where: $LAUNCH_WORDS" ;;
    *) reason="$1 could not be started$where: $LAUNCH_WORDS" ;;
  esac
  decide failed "${LAUNCH% *}" "${LAUNCH#* }" "$reason"
}

# unlaunched ROLE NODE: srun says that nothing of its step begins on the node. The tasks on others end by that, too.
on_launch_failure() {
  log_of_step "$1"
  explain_launch "$LOG" 0 || LAUNCH='-1402 transient'
  LAUNCH_NODE=$2
  launch_failed "$1"
}

# launch_failed ROLE: what was explained is settled in the loop. Where the whole job is being ended from outside, the
# script hears of it only now; a refusal and a node's Prolog have no other cause.
launch_failed() {
  [[ ! $OUTCOME ]] || return 0
  # The first failure stands.
  [[ ! $LAUNCH_OF ]] || [[ $LAUNCH == -1403* ]] || return 0
  # Slots that were prepared and never begin leave something on their nodes.
  LAUNCH_OF="role ${ROLE_NAME[$1]}" LAUNCH_AT=$NOW SWEEP=1
  [[ $LAUNCH != -1402* ]] || LAUNCH_AT=$((NOW + PROVISIONAL_SECONDS))
  FAILED_LAUNCH=("$LAUNCH" "$LAUNCH_NODE" "$LAUNCH_WORDS")
}

settle_launch() {
  ((NOW >= LAUNCH_AT)) || return 0
  # A job that is being ended from outside blames no node.
  [[ ! $OUTCOME ]] || { LAUNCH_OF='' && return; }
  LAUNCH=${FAILED_LAUNCH[0]} LAUNCH_NODE=${FAILED_LAUNCH[1]} LAUNCH_WORDS=${FAILED_LAUNCH[2]}
  end_by_launch "$LAUNCH_OF"
  LAUNCH_OF=''
}

# check_prologue NAME COMPONENT STATUS: a step before the tasks has failed so; give up if it never began.
check_prologue() {
  [[ ! $OUTCOME ]] && explain_launch "srun/$1-$2.log" "$3" || return 0
  # It may be the first sign of the job's end, which a signal tells.
  [[ $LAUNCH != -1402* ]] || attend sleep "$PROVISIONAL_SECONDS"
  end_by_launch "step $1"
  give_up "$OUTCOME_REASON"
}

# Whether a task of the role has not begun, though its step has ended.
has_unbegun_tasks() {
  local index
  for ((index = 0; index < INSTANCES[$1]; index++)); do [[ ${STATE[$1.$index]-} ]] || return 0; done
  return 1
}
