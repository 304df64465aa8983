# Ask registries which digest a tag has now.
#
# The requests go by curl. Users and passwords reach curl by a pipe, and never as words of a command
# line. Source: OCI distribution specification, pull; Docker registry, token authentication.

# Seconds between tries with a registry that does not answer, or has an error of its own.
readonly PSL_REGISTRY_PAUSES='1 4'
readonly PSL_MAX_RESPONSE_BYTES=65536
PSL_KIND='' PSL_PROBLEM='' PSL_REGISTRY='' PSL_LOGIN_USER='' PSL_LOGIN_PASSWORD=''
PSL_CONFIG='' PSL_ANSWERED='' PSL_HTTP_STATUS='' PSL_TOKEN=''

# set_problem KIND TEXT ...: note what went wrong, and fail.
# The kind tells whether a retry may help: permanent or transient.
set_problem() {
  PSL_KIND=$1 PSL_PROBLEM=${*:2}
  return 1
}

# find_login REGISTRY: set PSL_LOGIN_USER and PSL_LOGIN_PASSWORD to the job's credentials for a
# registry. They are empty if the job has none.
find_login() {
  local name file='' user
  local -a lines files=()
  PSL_LOGIN_USER='' PSL_LOGIN_PASSWORD=''
  for name in ${PSL_LOGINS-}; do
    files+=("$PSL_SECRETS_FOLDER/$name")
  done
  if [[ ${PSL_LOGIN_FILE+set} ]]; then
    user=$(id -un)
    printf -v file "%s$user" "${PSL_LOGIN_FILE[@]}"
    files+=("${file%"$user"}")
  fi
  for file in ${files[@]+"${files[@]}"}; do
    read_login_file "$file" || return
    if is_same_registry "${lines[0]}" "$1"; then
      PSL_LOGIN_USER=${lines[1]} PSL_LOGIN_PASSWORD=${lines[2]}
      return
    fi
  done
}

# read_login_file FILE: read a file of credentials, server, user and password, into `lines` of the
# caller.
read_login_file() {
  local text status=0
  if [[ $1 == hdfs://* ]]; then
    text=$(hdfs dfs -cat "$1") || status=$?
  elif [[ -r ${1#file://} ]]; then
    text=$(<"${1#file://}") || status=$?
  else
    status=1
  fi
  if ((status)); then
    set_problem permanent "the credentials for registries cannot be read: $1"
    return
  fi
  mapfile -t lines <<<"${text//$'\r'/}"
  if ((${#lines[@]} != 3)); then
    set_problem permanent "not three lines (server, user, password) in $1"
  fi
}

# is_same_registry SERVER REGISTRY: tell whether the server of some credentials is this registry.
# Docker Hub has several names, and an empty one.
is_same_registry() {
  local server=${1#*://}
  server=${server%%/*}
  case $server in
    '' | docker.io | index.docker.io) server='registry-1.docker.io' ;;
  esac
  [[ $server == "$2" ]]
}

# add_curl_option NAME VALUE: add a line to PSL_CONFIG, which is a configuration of curl.
# A newline in the value does not end the line.
add_curl_option() {
  local value=${2//\\/\\\\}
  value=${value//\"/\\\"}
  PSL_CONFIG+="$1 = \"${value//$'\n'/\\n}\""$'\n'
}

# send_request URL: send a request with the options of PSL_CONFIG.
# The answer, headers and body, is then in PSL_ANSWERED, and its status in PSL_HTTP_STATUS.
send_request() {
  local status=0 LC_ALL=C
  add_curl_option url "$1"
  if [[ ${PSL_CERTIFICATES-} ]]; then
    add_curl_option cacert "$PSL_CERTIFICATES"
  fi
  PSL_ANSWERED=$(run_curl) || status=$?
  PSL_CONFIG='' PSL_HTTP_STATUS=''
  if ((status == 0 && ${#PSL_ANSWERED} >= PSL_MAX_RESPONSE_BYTES)); then
    status=23
  fi
  if ((status == 0)); then
    PSL_HTTP_STATUS=${PSL_ANSWERED##*$'\n'}
    PSL_ANSWERED=${PSL_ANSWERED//$'\r'/}
    return 0
  fi
  set_curl_problem "$status"
}

# run_curl: run curl with PSL_CONFIG, and print the answer and its status.
# Curl speaks only https, also where a registry redirects it, and does not read ~/.curlrc. An answer
# that is longer than those of registries is not read to its end.
run_curl() {
  set -o pipefail
  curl -q --globoff --proto =https --proto-redir =https --max-redirs 5 \
    --config <(printf '%s' "$PSL_CONFIG") --silent --show-error --include \
    --connect-timeout 20 --max-time 60 --write-out '\n%{http_code}' |
    head -c "$PSL_MAX_RESPONSE_BYTES"
}

# set_curl_problem STATUS: say what a status of curl means. Source: curl(1), exit codes.
set_curl_problem() {
  case $1 in
    60 | 77)
      set_problem permanent "the certificate of $PSL_REGISTRY is not trusted" \
        "(site profile: containers.certificates)"
      ;;
    1)
      set_problem permanent \
        "the registry $PSL_REGISTRY sends us to an address that is not https"
      ;;
    23)
      set_problem permanent \
        "the registry $PSL_REGISTRY answers with more than $PSL_MAX_RESPONSE_BYTES bytes"
      ;;
    127)
      set_problem permanent \
        "there is no curl on $SLURMD_NODENAME, which asks registries for images"
      ;;
    *) set_problem transient "no answer from the registry $PSL_REGISTRY (curl: status $1)" ;;
  esac
}

# read_header NAME: set PSL_VALUE to the last value of a header in PSL_ANSWERED.
read_header() {
  local line
  PSL_VALUE=''
  while IFS= read -r line; do
    if [[ ${line,,} == "$1:"* ]]; then
      PSL_VALUE=${line#*:}
      PSL_VALUE=${PSL_VALUE# }
    fi
  done <<<"$PSL_ANSWERED"
}

# resolve_image REGISTRY REPOSITORY VERSION: set PSL_DIGEST to the digest of a tag.
# Fails with a problem, after some tries where these may help.
resolve_image() {
  local pause
  PSL_DIGEST=$3
  if is_digest "$3"; then
    return 0
  fi
  find_login "$1" || return
  PSL_REGISTRY=$1
  for pause in $PSL_REGISTRY_PAUSES ''; do
    if request_digest "$2" "$3"; then
      return 0
    fi
    [[ $PSL_KIND == transient && $pause ]] || return
    sleep "$pause"
  done
}

# is_digest TEXT: tell whether a text is a digest, and so may be part of a path.
is_digest() { [[ $1 =~ ^sha256:[0-9a-f]{64}$ ]]; }

# request_digest REPOSITORY TAG: ask PSL_REGISTRY for a digest, and set PSL_DIGEST.
# A registry that refuses the first request says how to log in for the second one.
request_digest() {
  local url=https://$PSL_REGISTRY/v2/$1/manifests/$2 image=$PSL_REGISTRY/$1:$2 tries
  PSL_TOKEN=''
  for tries in first second; do
    request_manifest "$url" "$tries" || return
    case $PSL_HTTP_STATUS:$tries in
      200:*)
        take_digest "$image"
        return
        ;;
      401:first)
        read_header www-authenticate
        case ${PSL_VALUE,,} in
          basic*) [[ $PSL_LOGIN_USER ]] || break ;;
          bearer*) request_token "$PSL_VALUE" "$1" || return ;;
          *) break ;;
        esac
        ;;
      401:* | 403:*) break ;;
      *)
        set_status_problem "$image"
        return
        ;;
    esac
  done
  set_refusal "$image"
}

# request_manifest URL TRY: ask for the headers of a manifest. The second try logs in, by PSL_TOKEN
# or by the user and password.
request_manifest() {
  PSL_CONFIG=''
  add_curl_option header "$(manifest_types)"
  if [[ $PSL_TOKEN ]]; then
    add_curl_option header "Authorization: Bearer $PSL_TOKEN"
  elif [[ $2 == second ]]; then
    add_curl_option user "$PSL_LOGIN_USER:$PSL_LOGIN_PASSWORD"
  fi
  PSL_CONFIG+='location'$'\n''head'$'\n'
  send_request "$1"
}

# manifest_types: print the types of a manifest. A tag may stand for one machine or for several.
manifest_types() {
  printf 'Accept: application/vnd.%s+json' oci.image.index.v1
  printf ', application/vnd.%s+json' oci.image.manifest.v1 \
    docker.distribution.manifest.list.v2 docker.distribution.manifest.v2
}

# take_digest IMAGE: set PSL_DIGEST to the digest in the answer.
take_digest() {
  read_header docker-content-digest
  PSL_DIGEST=$PSL_VALUE
  is_digest "$PSL_DIGEST" ||
    set_problem permanent "the registry $PSL_REGISTRY does not say which digest $1 has"
}

# set_status_problem IMAGE: say what PSL_HTTP_STATUS means for an image.
set_status_problem() {
  local answer="the registry $PSL_REGISTRY answers with status $PSL_HTTP_STATUS for $1"
  case $PSL_HTTP_STATUS in
    404) set_problem permanent "there is no image $1" ;;
    429 | 5*) set_problem transient "$answer" ;;
    *) set_problem permanent "$answer" ;;
  esac
}

# set_refusal IMAGE: say that the registry does not give this image to the job.
set_refusal() {
  if [[ $PSL_LOGIN_USER ]]; then
    set_problem permanent \
      "the registry $PSL_REGISTRY refuses the user $PSL_LOGIN_USER the image $1"
  else
    set_problem permanent "the registry $PSL_REGISTRY gives the image $1 only to users," \
      "or does not have it; the job has no credentials for $PSL_REGISTRY"
  fi
}

# request_token CHALLENGE REPOSITORY: ask for a token where the challenge of a registry says, and
# set PSL_TOKEN.
request_token() {
  local realm='' service=''
  if [[ $1 =~ realm=\"([^\"]*)\" ]]; then
    realm=${BASH_REMATCH[1]}
  fi
  if [[ $1 =~ service=\"([^\"]*)\" ]]; then
    service=${BASH_REMATCH[1]}
  fi
  PSL_CONFIG='get'$'\n'
  if [[ $service ]]; then
    add_curl_option data-urlencode "service=$service"
  fi
  add_curl_option data-urlencode "scope=repository:$2:pull"
  if [[ $PSL_LOGIN_USER ]]; then
    add_curl_option user "$PSL_LOGIN_USER:$PSL_LOGIN_PASSWORD"
  fi
  send_request "$realm" || return
  case $PSL_HTTP_STATUS in
    200) ;;
    429 | 5*)
      set_problem transient \
        "the registry $PSL_REGISTRY answers with status $PSL_HTTP_STATUS"
      return
      ;;
    *)
      set_refusal "$PSL_REGISTRY/$2"
      return
      ;;
  esac
  take_token
}

# take_token: set PSL_TOKEN to the token in the answer.
take_token() {
  local pattern='"(access_)?token"[[:space:]]*:[[:space:]]*"([^"[:space:][:cntrl:]]+)"'
  if [[ ! $PSL_ANSWERED =~ $pattern ]]; then
    set_problem permanent "the registry $PSL_REGISTRY gives no token"
    return
  fi
  PSL_TOKEN=${BASH_REMATCH[2]}
}
