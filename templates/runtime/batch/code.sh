# Copy codeDir of protocol v1 for the tasks. The batch script fetches the folder once, into the
# attempt's folder. Each task gets a writable copy, with the folder's name, in its working
# directory.

# Source: PAI protocol v1, codeDir; PAI rest-server, which refused larger ones.
readonly PSL_MAX_CODE_BYTES=200000000

# fetch_code: fetch codeDir into the attempt's folder.
fetch_code() {
  local from name
  # shellcheck source=/dev/null # written by write_environment
  from=$(source ./env.sh && printf '%s' "$PAI_CODE_DIR")
  name=${from%"${from##*[!/]}"} name=${name##*/}
  if [[ $name == @(''|.|..) ]]; then
    die "codeDir $from names no folder"
  fi
  mkdir -- code || die "cannot write to $PSL_ATTEMPT_FOLDER"
  case $from in
    hdfs://*) fetch_code_from_hdfs "$from" ;;
    http://* | https://*) fetch_code_from_web "$from" "$name" ;;
    *) copy_code "${from#file://}" ;;
  esac
  check_code_size code
}

# fetch_code_from_hdfs URL: fetch a folder of a Hadoop file system.
fetch_code_from_hdfs() {
  command -v hdfs >/dev/null || die "codeDir $1: there is no hdfs command on $SLURMD_NODENAME"
  run_interruptibly hdfs dfs -get "$1" code/ || die "codeDir $1 cannot be fetched"
}

# fetch_code_from_web URL NAME: fetch a file of a web server.
fetch_code_from_web() {
  local -a options=(-q --globoff --proto '=http,https' --proto-redir '=http,https' --fail --silent
    --show-error --location --max-filesize "$PSL_MAX_CODE_BYTES" --output "code/$2")
  command -v curl >/dev/null || die "codeDir $1: there is no curl on $SLURMD_NODENAME"
  # --max-filesize is not enough: a server may not announce the size.
  run_interruptibly limit_file "$PSL_MAX_CODE_BYTES" curl "${options[@]}" -- "$1" ||
    die "codeDir $1 cannot be fetched"
}

# copy_code PATH: copy a file or folder of the batch node. Follow a link, so that tasks get a copy
# of its target.
copy_code() {
  [[ -e $1 ]] || die "codeDir $1 is not there on $SLURMD_NODENAME"
  check_code_size "$1"
  run_interruptibly cp -RH -- "$1" code/ || die "codeDir $1 cannot be copied"
}

# limit_file BYTES WORD ...: run a command that cannot write a longer file.
limit_file() { ulimit -f "$(($1 / 1024 + 1))" && "${@:2}"; }

# check_code_size PATH: end the job if codeDir is too large.
check_code_size() {
  local size
  read -r size _ < <(du --summarize --bytes --dereference-args -- "$1")
  ((size <= PSL_MAX_CODE_BYTES)) ||
    die "codeDir has $size bytes, more than the $PSL_MAX_CODE_BYTES allowed"
}

# make_output: make the default outputDir if it is missing. The site makes `Output`, which all users
# share. Any user can make folders there: the owner of a folder in this user's place could read or
# replace the job's files. So the job refuses another user's folder.
make_output() {
  local folder part
  # shellcheck source=/dev/null # written by write_environment
  folder=$(source ./env.sh && printf '%s' "$PAI_OUTPUT_DIR")
  if [[ $folder != hdfs://* ]]; then
    folder=${folder#file://}
  fi
  make_output_folder "$folder" ||
    log "the default outputDir $folder does not exist and cannot be made"
  for part in "${folder%/*}" "$folder"; do
    if [[ -e $part || -L $part ]] && ! is_own_part "$part"; then
      die "the default outputDir cannot be trusted: another user owns $part" \
        255 permanent
    fi
  done
}

# make_output_folder URL_OR_PATH: make the folder; its parent, the folder of all users, must exist.
make_output_folder() {
  if [[ $1 == hdfs://* ]]; then
    command -v hdfs >/dev/null && run_interruptibly hdfs dfs -mkdir -p "$1"
  else
    [[ -d ${1%/*/*} ]] && (set_user_umask && mkdir -p -- "$1")
  fi
}
