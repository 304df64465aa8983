# Query registries for the current digest of a tag.
#
# curl sends the requests. It reads users and passwords from a pipe, and never from a command line.
# Source: OCI distribution specification, pull; Docker registry, token authentication.

# Seconds between tries with a registry that does not answer or reports an internal error.
readonly PSL_REGISTRY_PAUSES='1 4'
readonly PSL_MAX_RESPONSE_BYTES=65536
PSL_KIND='' PSL_PROBLEM='' PSL_REGISTRY='' PSL_LOGIN_USER='' PSL_LOGIN_PASSWORD=''
PSL_CONFIG='' PSL_ANSWERED='' PSL_HTTP_STATUS='' PSL_TOKEN=''

# set_problem KIND TEXT ...: record a problem, and fail. KIND is permanent, or transient if a retry
# may help.
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

# read_login_file FILE: read a file of credentials (server, user, password) into the caller's
# `lines`.
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

# is_same_registry SERVER REGISTRY: succeed if the server in credentials is this registry. Docker
# Hub has several names, one of them empty.
is_same_registry() {
  local server=${1#*://}
  server=${server%%/*}
  case $server in
    '' | docker.io | index.docker.io) server='registry-1.docker.io' ;;
  esac
  [[ $server == "$2" ]]
}

# add_curl_option NAME VALUE: add a line to PSL_CONFIG, the configuration of curl. A newline in the
# value does not end the line.
add_curl_option() {
  local value=${2//\\/\\\\}
  value=${value//\"/\\\"}
  PSL_CONFIG+="$1 = \"${value//$'\n'/\\n}\""$'\n'
}

# send_request URL: send a request with the options of PSL_CONFIG. Set PSL_ANSWERED to the headers
# and body of the response, and PSL_HTTP_STATUS to its status.
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

# run_curl: run curl with PSL_CONFIG, and print the response and its status. Curl uses only https,
# also after a redirect, and does not read ~/.curlrc. It stops reading a response that is too long
# for a registry's.
run_curl() {
  set -o pipefail
  curl -q --globoff --proto =https --proto-redir =https --max-redirs 5 \
    --config <(printf '%s' "$PSL_CONFIG") --silent --show-error --include \
    --connect-timeout 20 --max-time 60 --write-out '\n%{http_code}' |
    head -c "$PSL_MAX_RESPONSE_BYTES"
}

# set_curl_problem STATUS: set the problem for an exit status of curl. Source: curl(1), exit codes.
set_curl_problem() {
  case $1 in
    60 | 77)
      set_problem permanent "the certificate of $PSL_REGISTRY is not trusted" \
        "(site profile: containers.certificates)"
      ;;
    1)
      set_problem permanent \
        "the registry $PSL_REGISTRY redirects to an address that is not https"
      ;;
    23)
      set_problem permanent \
        "the registry $PSL_REGISTRY answers with more than $PSL_MAX_RESPONSE_BYTES bytes"
      ;;
    127)
      set_problem permanent \
        "there is no curl on $SLURMD_NODENAME to query registries"
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

# resolve_image REGISTRY REPOSITORY VERSION: set PSL_DIGEST to the digest of a tag. Fail with a
# problem; retry first if it is transient.
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

# is_digest TEXT: succeed if a text is a digest, and so safe as part of a path.
is_digest() { [[ $1 =~ ^sha256:[0-9a-f]{64}$ ]]; }

# request_digest REPOSITORY TAG: request a digest from PSL_REGISTRY, and set PSL_DIGEST. A registry
# that rejects the first request returns a challenge, with which the second one logs in.
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

# request_manifest URL TRY: request the headers of a manifest. The second try logs in with
# PSL_TOKEN, or with the user and password.
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

# manifest_types: print the accepted types of a manifest. A tag may be for one architecture or for
# several.
manifest_types() {
  printf 'Accept: application/vnd.%s+json' oci.image.index.v1
  printf ', application/vnd.%s+json' oci.image.manifest.v1 \
    docker.distribution.manifest.list.v2 docker.distribution.manifest.v2
}

# take_digest IMAGE: set PSL_DIGEST to the digest in the response.
take_digest() {
  read_header docker-content-digest
  PSL_DIGEST=$PSL_VALUE
  is_digest "$PSL_DIGEST" ||
    set_problem permanent "the registry $PSL_REGISTRY reports no digest for $1"
}

# set_status_problem IMAGE: set the problem of an image from PSL_HTTP_STATUS.
set_status_problem() {
  local answer="the registry $PSL_REGISTRY answers with status $PSL_HTTP_STATUS for $1"
  case $PSL_HTTP_STATUS in
    404) set_problem permanent "there is no image $1" ;;
    429 | 5*) set_problem transient "$answer" ;;
    *) set_problem permanent "$answer" ;;
  esac
}

# set_refusal IMAGE: set the problem of an image that the registry refuses to the job.
set_refusal() {
  if [[ $PSL_LOGIN_USER ]]; then
    set_problem permanent \
      "the registry $PSL_REGISTRY refuses the image $1 to the user $PSL_LOGIN_USER"
  else
    set_problem permanent "the registry $PSL_REGISTRY gives the image $1 only to users," \
      "or does not have it; the job has no credentials for $PSL_REGISTRY"
  fi
}

# request_token CHALLENGE REPOSITORY: request a token from the server in a registry's challenge, and
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

# take_token: set PSL_TOKEN to the token in the response.
take_token() {
  local pattern='"(access_)?token"[[:space:]]*:[[:space:]]*"([^"[:space:][:cntrl:]]+)"'
  if [[ ! $PSL_ANSWERED =~ $pattern ]]; then
    set_problem permanent "the registry $PSL_REGISTRY gives no token"
    return
  fi
  PSL_TOKEN=${BASH_REMATCH[2]}
}
