# codeDir of protocol v1: a folder that every task finds under its own name in the working directory.
# It is fetched once, into the attempt's folder, and each task gets a copy that it can write to.

# Source: PAI protocol v1, codeDir; PAI rest-server, which refused larger ones.
readonly PSL_MAX_CODE_BYTES=200000000

fetch_code() {
  local from name size
  # shellcheck source=/dev/null # written by write_environment
  from=$(source ./env.sh && printf '%s' "$PAI_CODE_DIR")
  name=${from%"${from##*[!/]}"} name=${name##*/}
  if [[ $name == @(''|.|..) ]]; then
    die "codeDir $from names no folder"
  fi
  mkdir -- code || die "cannot write to $PSL_ATTEMPT_FOLDER"
  case $from in
    hdfs://*)
      command -v hdfs >/dev/null || die "codeDir $from: there is no hdfs command on $SLURMD_NODENAME"
      run_interruptibly hdfs dfs -get "$from" code/ || die "codeDir $from cannot be fetched"
      ;;
    http://* | https://*)
      command -v curl >/dev/null || die "codeDir $from: there is no curl on $SLURMD_NODENAME"
      # A server need not say how much is to come.
      run_interruptibly limit_file "$PSL_MAX_CODE_BYTES" curl -q --globoff --proto =http,https --proto-redir =http,https --fail --silent \
        --show-error --location --max-filesize "$PSL_MAX_CODE_BYTES" --output "code/$name" -- "$from" ||
        die "codeDir $from cannot be fetched"
      ;;
    *)
      from=${from#file://}
      [[ -e $from ]] || die "codeDir $from is not there, seen from $SLURMD_NODENAME"
      check_code_size "$from"
      run_interruptibly cp -R -- "$from" code/ || die "codeDir $from cannot be copied"
      ;;
  esac
  check_code_size code
}

# limit_file BYTES WORD ...: run a command that can write no longer file.
limit_file() { ulimit -f "$(($1 / 1024 + 1))" && "${@:2}"; }

check_code_size() {
  local size
  read -r size _ < <(du --summarize --bytes -- "$1")
  ((size <= PSL_MAX_CODE_BYTES)) || die "codeDir has $size bytes, more than the $PSL_MAX_CODE_BYTES that it may have"
}

# The default outputDir is made if it is missing. What all users share, `Output`, is the site's affair; there anybody could
# have made the user's own folder, to read what the job writes, or to give it what it reads.
make_output() {
  local folder part
  # shellcheck source=/dev/null # written by write_environment
  folder=$(source ./env.sh && printf '%s' "$PAI_OUTPUT_DIR")
  case $folder in
    hdfs://*) command -v hdfs >/dev/null && run_interruptibly hdfs dfs -mkdir -p "$folder" ;;
    *)
      folder=${folder#file://}
      [[ -d ${folder%/*/*} ]] && (umask 0022 && mkdir -p -- "$folder")
      ;;
  esac || log "the default outputDir $folder is not there and cannot be made"
  for part in "${folder%/*}" "$folder"; do
    [[ ! -e $part && ! -L $part ]] || is_own_part "$part" ||
      die "the default outputDir cannot be trusted: $part is another user's, or a link of one's" 255 permanent
  done
}
