# Launches that fail: steps, or tasks of them, that end before they have begun. That is never the failure of the user's
# commands: no completion policy and no retry of tasks counts it. It ends the job, and srun's own words say why.

# What srun says where it asks Slurm for no step, because of its command line.
# Source: slurm_opt.c of Slurm, getopt_long(3); observed on 22.05.
readonly PSL_REFUSED_OPTION_ERRORS='^srun: ((error|fatal): .*(--[a-z]|incompatible|mutually exclusive|specification|het-group|mpi/|No command)|(unrecognized|unknown|invalid|ambiguous) option|option )'
# What it says where Slurm or a node does not start one.
readonly PSL_LAUNCH_ERRORS='^srun: .*(Unable to (create|confirm)|[Ll]aunch(ing)? .*failed|has expired|ommunication|[Cc]onnection|[Tt]imed out|[Cc]redential|[Pp]rotocol)'
readonly PSL_NODE_LAUNCH_ERROR='^srun: error: Task launch for .* failed on node ([^ :]+): (.*)$'
# What tells nothing of the cause.
readonly PSL_IRRELEVANT_ERRORS='^srun: (warning: |Job step aborted|Force Terminated|Try |.*step creation|Step created)|^slurmstepd-[^ ]+: error: \*\*\* '

# explain_launch LOG STATUS: what srun said when it ended so: LAUNCH is "CODE BEHAVIOUR", PSL_LAUNCH_WORDS its first errors,
# PSL_LAUNCH_NODE the node that it blames. False, and no LAUNCH, where it does not speak of a launch.
explain_launch() {
  # Words of any encoding become text that result.json can hold.
  local line='' count=0 told=0 LC_ALL=C
  PSL_LAUNCH='' PSL_LAUNCH_NODE='' PSL_LAUNCH_WORDS=''
  [[ ! -r $1 ]] || while ((count++ < 1000)) && { IFS= read -r -n 1000 line || [[ $line ]]; }; do
    line=${line//[![:print:]]/?}
    if [[ $line =~ $PSL_NODE_LAUNCH_ERROR ]]; then
      PSL_LAUNCH_NODE=${BASH_REMATCH[1]}
      set_launch_of "${BASH_REMATCH[2]}"
    elif [[ $line =~ $PSL_LAUNCH_ERRORS ]]; then
      [[ $PSL_LAUNCH == *transient ]] || PSL_LAUNCH='-1402 transient'
    elif [[ ! $PSL_LAUNCH && $line =~ $PSL_REFUSED_OPTION_ERRORS ]]; then
      PSL_LAUNCH='-1401 permanent'
    fi
    if [[ $line =~ $PSL_IRRELEVANT_ERRORS ]]; then
      continue
    fi
    line=${line#srun: } line=${line#error: } line=${line#fatal: }
    ((told++ > 2)) || PSL_LAUNCH_WORDS+=${PSL_LAUNCH_WORDS:+; }${line:0:200}
  done <"$1"
  if [[ ! $PSL_LAUNCH_WORDS ]] && (($2 > 128)); then
    PSL_LAUNCH='-1402 transient' PSL_LAUNCH_WORDS="srun was killed by signal $(($2 - 128)) and said nothing"
  elif (($2 == 126 || $2 == 127)); then
    PSL_LAUNCH=${PSL_LAUNCH:-'-1402 transient'}
  fi
  PSL_LAUNCH_WORDS=${PSL_LAUNCH_WORDS:-srun ended with status $2 and said nothing}
  [[ $PSL_LAUNCH ]]
}

# set_launch_of WORDS: by what srun says of a node, the Prolog has failed there or something else.
set_launch_of() {
  if [[ $1 == *[Pp]rolog\ failed* ]]; then PSL_LAUNCH='-1403 transient'; else PSL_LAUNCH='-1402 transient'; fi
}

# end_by_launch WHAT: the launch that was explained ends the job. Tasks that were to begin on the node that is to blame
# have failed, so that the next attempt leaves it out; the others never were.
end_by_launch() {
  local role slot task where=${PSL_LAUNCH_NODE:+ on node $PSL_LAUNCH_NODE} reason
  for role in "${!PSL_NODES_OF[@]}"; do
    nodes_of "$role"
    for ((slot = 0; slot < PSL_INSTANCES[role]; slot++)); do
      task=$role.$slot
      [[ $PSL_LAUNCH_NODE && ${PSL_NODES[slot]-} == "$PSL_LAUNCH_NODE" && ! ${PSL_STATE[$task]-} ]] || continue
      PSL_STATE[$task]=failed PSL_CODE_OF[$task]=${PSL_LAUNCH% *} PSL_BEHAVIOUR_OF[$task]=${PSL_LAUNCH#* } PSL_NODE_OF[$task]=$PSL_LAUNCH_NODE
    done
  done
  case $PSL_LAUNCH in
    -1401*) reason="srun refused to start $1, which is no failure of the job's own: $PSL_LAUNCH_WORDS" ;;
    -1403*) reason="$1 could not be started, because the Prolog failed$where: $PSL_LAUNCH_WORDS" ;;
    *) reason="$1 could not be started$where: $PSL_LAUNCH_WORDS" ;;
  esac
  decide failed "${PSL_LAUNCH% *}" "${PSL_LAUNCH#* }" "$reason"
}

# unlaunched ROLE NODE: srun says that nothing of its step begins on the node. The tasks on others end by that, too.
on_launch_failure() {
  log_of_step "$1"
  explain_launch "$PSL_LOG" 0 || PSL_LAUNCH='-1402 transient'
  PSL_LAUNCH_NODE=$2
  launch_failed "$1"
}

# launch_failed ROLE: what was explained is settled in the loop. Where the whole job is being ended from outside, the
# script hears of it only now; a refusal and a node's Prolog have no other cause.
launch_failed() {
  if [[ $PSL_OUTCOME ]]; then
    return 0
  fi
  # The first failure stands.
  [[ ! $PSL_LAUNCH_OF ]] || [[ $PSL_LAUNCH == -1403* ]] || return 0
  # Slots that were prepared and never begin leave something on their nodes.
  PSL_LAUNCH_OF="role ${PSL_ROLE_NAME[$1]}" PSL_LAUNCH_AT=$PSL_NOW PSL_NEEDS_CLEANUP=1
  if [[ $PSL_LAUNCH == -1402* ]]; then
    PSL_LAUNCH_AT=$((PSL_NOW + PSL_PROVISIONAL_SECONDS))
  fi
  PSL_FAILED_LAUNCH=("$PSL_LAUNCH" "$PSL_LAUNCH_NODE" "$PSL_LAUNCH_WORDS")
}

settle_launch() {
  ((PSL_NOW >= PSL_LAUNCH_AT)) || return 0
  # A job that is being ended from outside blames no node.
  if [[ $PSL_OUTCOME ]]; then
    PSL_LAUNCH_OF='' && return
  fi
  PSL_LAUNCH=${PSL_FAILED_LAUNCH[0]} PSL_LAUNCH_NODE=${PSL_FAILED_LAUNCH[1]} PSL_LAUNCH_WORDS=${PSL_FAILED_LAUNCH[2]}
  end_by_launch "$PSL_LAUNCH_OF"
  PSL_LAUNCH_OF=''
}

# check_prologue NAME COMPONENT STATUS: a step before the tasks has failed so; give up if it never began.
check_prologue() {
  [[ ! $PSL_OUTCOME ]] && explain_launch "srun/$1-$2.log" "$3" || return 0
  # It may be the first sign of the job's end, which a signal tells.
  if [[ $PSL_LAUNCH == -1402* ]]; then
    run_interruptibly sleep "$PSL_PROVISIONAL_SECONDS"
  fi
  end_by_launch "step $1"
  die "$PSL_OUTCOME_REASON"
}

# Whether a task of the role has not begun, though its step has ended.
has_unbegun_tasks() {
  local index
  for ((index = 0; index < PSL_INSTANCES[$1]; index++)); do [[ ${PSL_STATE[$1.$index]-} ]] || return 0; done
  return 1
}
