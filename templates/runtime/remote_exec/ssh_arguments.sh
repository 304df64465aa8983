# Read the command line of ssh.
# Source: ssh(1), ssh_config(5); OpenSSH 9.2, ssh.c.

# All options of ssh, and those of protocol 1; those that mean nothing here are ignored.
readonly PSL_SSH_OPTIONS=':1246AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:'

# read_ssh_arguments WORD ...: set PSL_SSH_* to the host, the command and the options of ssh, and
# PSL_SSH_REFUSAL to the first thing that a task cannot do. Options can come before and after the
# host; after `--` the command follows the host.
read_ssh_arguments() {
  local letter last OPTIND=1
  PSL_SSH_HOST='' PSL_SSH_PORT='' PSL_SSH_INPUT=yes PSL_SSH_BACKGROUND='' PSL_SSH_TERMINAL=''
  PSL_SSH_SUBSYSTEM='' PSL_SSH_QUERY='' PSL_SSH_FORWARD='' PSL_SSH_CLEAR='' PSL_SSH_REFUSAL=''
  PSL_SSH_NAME='' PSL_SSH_REMOTE=''
  while :; do
    OPTIND=1
    while getopts "$PSL_SSH_OPTIONS" letter "$@"; do
      read_ssh_option "$letter"
    done
    last=${*:OPTIND-1:1}
    shift $((OPTIND - 1))
    if [[ $PSL_SSH_HOST ]] || ((!$#)); then
      break
    fi
    read_ssh_host "$1"
    shift
    if [[ $last == -- ]]; then
      break
    fi
  done
  PSL_SSH_HOST=${PSL_SSH_NAME:-$PSL_SSH_HOST}
  PSL_SSH_COMMAND=$*
}

# read_ssh_host [USER@]HOST|ssh://[USER@]HOST[:PORT]: record the host of ssh, and its port.
read_ssh_host() {
  local form='^ssh://([^@/]+@)?([^]@:/[]+)(:([0-9]*))?/?$'
  case $1 in
    ssh://*)
      [[ $1 =~ $form ]] || refuse "$1 is no address of ssh"
      PSL_SSH_HOST=${BASH_REMATCH[2]}
      read_ssh_port "${BASH_REMATCH[4]}"
      ;;
    @* | *@) refuse "$1 has no user or no host" ;;
    *) PSL_SSH_HOST=${1##*@} ;;
  esac
}

# read_ssh_port PORT: record the port of ssh, unless another is known: the first counts.
read_ssh_port() {
  local port=${1/#ssh/22}
  if [[ $PSL_SSH_PORT || ! $port ]]; then
    return
  fi
  if [[ $port =~ ^[0-9]{1,5}$ ]] && ((10#$port > 0 && 10#$port < 65536)); then
    PSL_SSH_PORT=$((10#$port))
  else
    cannot "$1 is no port"
  fi
}

# cannot REASON: record the first reason why a task cannot do what is asked. The ssh of the node may
# do it for another host.
cannot() { PSL_SSH_REFUSAL=${PSL_SSH_REFUSAL:-$1}; }

# needs_daemon OPTION: record that a task cannot do what an option asks for.
needs_daemon() { cannot "$1 is not possible without a daemon"; }

# read_ssh_option LETTER: record an option of ssh, with its value in OPTARG from getopts.
read_ssh_option() {
  case $1 in
    n) PSL_SSH_INPUT='' ;;
    f) PSL_SSH_INPUT='' PSL_SSH_BACKGROUND=yes ;;
    p) read_ssh_port "$OPTARG" ;;
    o) read_ssh_setting "$OPTARG" ;;
    t) PSL_SSH_TERMINAL=yes ;;
    T) PSL_SSH_TERMINAL=no ;;
    s) PSL_SSH_SUBSYSTEM=yes ;;
    D | L | R) PSL_SSH_FORWARD=-$1 ;;
    N | O | W | w) needs_daemon "-$1" ;;
    1) refuse "protocol 1 is not supported" ;;
    G | Q) PSL_SSH_QUERY=-$1 ;;
    V)
      log "ssh of the job, without a daemon"
      exit 0
      ;;
    :) refuse "-$OPTARG needs a value" ;;
    \?) refuse "unknown option -$OPTARG" ;;
  esac
}

# read_ssh_setting SETTING: record the value of `-o`, `KEY=VALUE` or `KEY VALUE`. The first value of
# a key counts. Keys that mean nothing here are ignored.
# Source: ssh_config(5).
read_ssh_setting() {
  local form='^[[:space:]]*"?([[:alnum:]]+)"?([[:space:]]*=|[[:space:]])[[:space:]]*(.*)$' key value
  if [[ ! $1 || $1 == '#'* ]]; then
    return
  fi
  [[ $1 =~ $form ]] || refuse "-o $1 has no value"
  key=${BASH_REMATCH[1],,} value=${BASH_REMATCH[3]%"${BASH_REMATCH[3]##*[![:space:]]}"}
  value=${value#\"} value=${value%\"}
  [[ $value ]] || refuse "-o $1 has no value"
  case $key=${value,,} in
    port=*) read_ssh_port "$value" ;;
    hostname=*) PSL_SSH_NAME=${PSL_SSH_NAME:-$value} ;;
    remotecommand=*) PSL_SSH_REMOTE=${PSL_SSH_REMOTE:-$value} ;;
    requesttty=yes | requesttty=true | requesttty=force) : "${PSL_SSH_TERMINAL:=yes}" ;;
    requesttty=no | requesttty=false) : "${PSL_SSH_TERMINAL:=no}" ;;
    stdinnull=yes | stdinnull=true) PSL_SSH_INPUT='' ;;
    forkafterauthentication=yes | forkafterauthentication=true) read_ssh_option f ;;
    sessiontype=subsystem) PSL_SSH_SUBSYSTEM=yes ;;
    sessiontype=none | tunnel=[!n]*) needs_daemon "-o $1" ;;
    clearallforwardings=*) : "${PSL_SSH_CLEAR:=${value,,}}" ;;
    localforward=* | remoteforward=* | dynamicforward=*) PSL_SSH_FORWARD="-o $1" ;;
  esac
}
