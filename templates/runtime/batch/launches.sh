# Explain failed launches, and end the job after one.

# A launch fails if a step, or its part on a node, ends before its tasks start. The user's commands
# are not the cause, so neither the completion policy nor retries of tasks count a failed launch. It
# ends the job, and the reason quotes srun.

# Messages of an srun that rejects its command line and requests no step.
# Source: slurm_opt.c of Slurm, getopt_long(3); observed on 22.05.
readonly PSL_REFUSED_OPTION_ERRORS='^srun: ((error|fatal): .*'\
'(--[a-z]|incompatible|mutually exclusive|specification|het-group|mpi/|No command)'\
'|(unrecognized|unknown|invalid|ambiguous) option|option )'
# Messages of srun when Slurm or a node does not start a step.
readonly PSL_LAUNCH_ERRORS='^srun: .*(Unable to (create|confirm)|[Ll]aunch(ing)? .*failed'\
'|has expired|ommunication|[Cc]onnection|[Tt]imed out|[Cc]redential|[Pp]rotocol)'
readonly PSL_NODE_LAUNCH_ERROR='^srun: error: Task launch for .* failed on node ([^ :]+): (.*)$'
# Messages that do not name the cause.
readonly PSL_IRRELEVANT_ERRORS='^srun: (warning: |Job step aborted|Force Terminated|Try '\
'|.*step creation|Step created)|^slurmstepd-[^ ]+: error: \*\*\* '

# explain_launch LOG STATUS: set PSL_LAUNCH_FAILURE to "CODE BEHAVIOUR" of a launch whose srun ended
# with this status, PSL_LAUNCH_WORDS to the first three errors and PSL_LAUNCH_NODE to the node that
# srun blames. Read only the beginning of the log. Fail, with an empty PSL_LAUNCH_FAILURE, if srun
# does not mention a launch.
explain_launch() {
  # In the C locale bytes of any encoding become text that is valid in result.json.
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

# classify_srun_error LINE: classify the failure that a line of srun reports, if any.
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

# end_by_failed_launch WHAT FAILURE NODE WORDS: end the job after a failed launch. Mark the tasks on
# the node that srun blames as failed, so that the next attempt excludes the node. The other tasks
# keep no state.
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

# on_launch_failure ROLE NODE: act on a role's step that does not start on a node. The tasks on its
# other nodes end, too.
on_launch_failure() {
  find_srun_log "$1"
  if ! explain_launch "$PSL_SRUN_LOG" 0; then
    PSL_LAUNCH_FAILURE='-1402 transient'
  fi
  PSL_LAUNCH_NODE=$2
  note_failed_launch "$1"
}

# note_failed_launch ROLE: note the explained failure for settle_failed_launch. A launch may fail
# because Slurm is ending the whole job, and the signal for the script comes late. An srun that
# rejects its command line and a failed Prolog have no such cause, so they are final at once.
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
  # Prepared slots that never start leave files on their nodes.
  PSL_NEEDS_CLEANUP=1
}

# settle_failed_launch: end the job after the noted failed launch, once it is final, or start anew
# on a spare node. If Slurm is ending the job, blame no node.
settle_failed_launch() {
  ((PSL_NOW >= PSL_FAILED_LAUNCH_AT)) || return 0
  if [[ ! $PSL_OUTCOME ]]; then
    set -- ${PSL_FAILED_LAUNCH[@]+"${PSL_FAILED_LAUNCH[@]}"}
    restart_after_failed_launch "$@" ||  # only: spare
      end_by_failed_launch "$@"
  fi
  PSL_FAILED_LAUNCH=()
}
