# Explain launches that fail, and end the job by them.

# A launch fails where a step, or its part on a node, ends before its tasks begin. The commands of
# the user are not the cause, so no completion policy and no retry of tasks counts a failed launch:
# it ends the job, and the reason has the words of srun.

# Messages of an srun that refuses its command line, and so asks Slurm for no step.
# Source: slurm_opt.c of Slurm, getopt_long(3); observed on 22.05.
readonly PSL_REFUSED_OPTION_ERRORS='^srun: ((error|fatal): .*'\
'(--[a-z]|incompatible|mutually exclusive|specification|het-group|mpi/|No command)'\
'|(unrecognized|unknown|invalid|ambiguous) option|option )'
# Messages of srun where Slurm or a node does not start a step.
readonly PSL_LAUNCH_ERRORS='^srun: .*(Unable to (create|confirm)|[Ll]aunch(ing)? .*failed'\
'|has expired|ommunication|[Cc]onnection|[Tt]imed out|[Cc]redential|[Pp]rotocol)'
readonly PSL_NODE_LAUNCH_ERROR='^srun: error: Task launch for .* failed on node ([^ :]+): (.*)$'
# Messages that tell nothing of the cause.
readonly PSL_IRRELEVANT_ERRORS='^srun: (warning: |Job step aborted|Force Terminated|Try '\
'|.*step creation|Step created)|^slurmstepd-[^ ]+: error: \*\*\* '

# explain_launch LOG STATUS: set PSL_LAUNCH_FAILURE to "CODE BEHAVIOUR" of a launch whose srun ended
# so, PSL_LAUNCH_WORDS to its first three errors and PSL_LAUNCH_NODE to the node that it blames.
# Only the beginning of the log is read. Return false, with no PSL_LAUNCH_FAILURE, where srun does
# not speak of a launch.
explain_launch() {
  # In the C locale bytes of any encoding become text that result.json can hold.
  local status=$2 line='' count=0 kept=0 LC_ALL=C
  PSL_LAUNCH_FAILURE='' PSL_LAUNCH_NODE='' PSL_LAUNCH_WORDS=''
  while IFS= read -r -n 1000 line || [[ $line ]]; do
    if ((count++ >= 1000)); then
      break
    fi
    line=${line//[![:print:]]/?}
    classify_srun_error "$line"
    if [[ ! $line =~ $PSL_IRRELEVANT_ERRORS ]] && ((kept++ < 3)); then
      line=${line#srun: } line=${line#error: } line=${line#fatal: }
      PSL_LAUNCH_WORDS+=${PSL_LAUNCH_WORDS:+; }${line:0:200}
    fi
  done < <(cat -- "$1" 2>/dev/null)
  if [[ ! $PSL_LAUNCH_WORDS ]] && ((status > 128)); then
    PSL_LAUNCH_FAILURE='-1402 transient'
    PSL_LAUNCH_WORDS="srun was killed by signal $((status - 128)) and said nothing"
  elif ((status == 126 || status == 127)); then
    PSL_LAUNCH_FAILURE=${PSL_LAUNCH_FAILURE:-'-1402 transient'}
  fi
  PSL_LAUNCH_WORDS=${PSL_LAUNCH_WORDS:-srun ended with status $status and said nothing}
  [[ $PSL_LAUNCH_FAILURE ]]
}

# classify_srun_error LINE: which failure of a launch the line tells, if any.
classify_srun_error() {
  if [[ $1 =~ $PSL_NODE_LAUNCH_ERROR ]]; then
    PSL_LAUNCH_NODE=${BASH_REMATCH[1]}
    PSL_LAUNCH_FAILURE='-1402 transient'
    if [[ ${BASH_REMATCH[2]} == *[Pp]rolog\ failed* ]]; then
      PSL_LAUNCH_FAILURE='-1403 transient'
    fi
  elif [[ $1 =~ $PSL_LAUNCH_ERRORS ]]; then
    if [[ $PSL_LAUNCH_FAILURE != *transient ]]; then
      PSL_LAUNCH_FAILURE='-1402 transient'
    fi
  elif [[ ! $PSL_LAUNCH_FAILURE && $1 =~ $PSL_REFUSED_OPTION_ERRORS ]]; then
    PSL_LAUNCH_FAILURE='-1401 permanent'
  fi
}

# end_by_failed_launch WHAT FAILURE NODE WORDS: end the job by a failed launch. The tasks that were
# to begin on the node that srun blames fail, so that the next attempt leaves the node out; the
# others stay without a state.
end_by_failed_launch() {
  local reason code=${2% *} behaviour=${2#* } node=$3 where=${3:+ on node $3} role slot task
  for role in "${!PSL_NODES_OF[@]}"; do
    nodes_of "$role"
    for ((slot = 0; slot < PSL_INSTANCES[role]; slot++)); do
      task=$role.$slot
      if [[ $node && ${PSL_NODES[slot]-} == "$node" && ! ${PSL_STATE[$task]-} ]]; then
        PSL_STATE[$task]=failed PSL_NODE_OF[$task]=$node
        PSL_CODE_OF[$task]=$code PSL_BEHAVIOUR_OF[$task]=$behaviour
      fi
    done
  done
  case $code in
    -1401) reason="srun refused to start $1, which is no failure of the job's own" ;;
    -1403) reason="$1 could not be started, because the Prolog failed$where" ;;
    *) reason="$1 could not be started$where" ;;
  esac
  decide failed "$code" "$behaviour" "$reason: $4"
}

# on_launch_failure ROLE NODE: srun says that nothing of the role's step begins on the node. The
# tasks on other nodes end by that, too.
on_launch_failure() {
  find_srun_log "$1"
  if ! explain_launch "$PSL_SRUN_LOG" 0; then
    PSL_LAUNCH_FAILURE='-1402 transient'
  fi
  PSL_LAUNCH_NODE=$2
  note_failed_launch "$1"
}

# note_failed_launch ROLE: keep the failure that was explained for settle_failed_launch. A launch
# may fail because the whole job is being ended from outside, and the script gets its signal late. A
# refusal by srun and a failed Prolog have no such cause, so they are believed at once.
note_failed_launch() {
  if [[ $PSL_OUTCOME ]]; then
    return 0
  fi
  # Keep the first failure, but prefer that of a Prolog.
  if ((${#PSL_FAILED_LAUNCH[@]})) && [[ $PSL_LAUNCH_FAILURE != -1403* ]]; then
    return 0
  fi
  PSL_FAILED_LAUNCH=("role ${PSL_ROLE_NAME[$1]}" "$PSL_LAUNCH_FAILURE" "$PSL_LAUNCH_NODE"
    "$PSL_LAUNCH_WORDS")
  PSL_FAILED_LAUNCH_AT=$PSL_NOW
  if [[ $PSL_LAUNCH_FAILURE == -1402* ]]; then
    PSL_FAILED_LAUNCH_AT=$((PSL_NOW + PSL_PROVISIONAL_SECONDS))
  fi
  # Slots that were prepared and never begin leave something on their nodes.
  PSL_NEEDS_CLEANUP=1
}

# End the job by the failed launch that was noted, once it is believed. A job that is being ended
# from outside blames no node.
settle_failed_launch() {
  ((PSL_NOW >= PSL_FAILED_LAUNCH_AT)) || return 0
  if [[ ! $PSL_OUTCOME ]]; then
    end_by_failed_launch ${PSL_FAILED_LAUNCH[@]+"${PSL_FAILED_LAUNCH[@]}"}
  fi
  PSL_FAILED_LAUNCH=()
}
