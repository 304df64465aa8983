# Registries: which digest a tag has now, asked with curl. Names and passwords go to curl by a pipe, never as words.
# Source: OCI distribution specification, pull; Docker registry, token authentication.

# Seconds between the times that a registry is asked which does not answer, or has an error of its own.
readonly PSL_REGISTRY_PAUSES='1 4'
readonly PSL_MAX_RESPONSE_BYTES=65536
PSL_KIND='' PSL_PROBLEM='' PSL_REGISTRY='' PSL_LOGIN_USER='' PSL_LOGIN_PASSWORD='' PSL_CONFIG='' PSL_ANSWERED='' PSL_HTTP_STATUS=''

# problem KIND TEXT: what stands in the way, and whether a retry may help: permanent or transient.
problem() {
  PSL_KIND=$1 PSL_PROBLEM=$2
  return 1
}

# find_login REGISTRY: the credentials for it, in PSL_LOGIN_USER and PSL_LOGIN_PASSWORD; empty if the job has none.
find_login() {
  local name file='' user text
  local -a lines files=()
  PSL_LOGIN_USER='' PSL_LOGIN_PASSWORD=''
  for name in ${PSL_LOGINS-}; do files+=("$PSL_SECRETS_FOLDER/$name"); done
  if [[ ${PSL_LOGIN_FILE+set} ]]; then
    user=$(id -un)
    printf -v file "%s$user" "${PSL_LOGIN_FILE[@]}"
    files+=("${file%"$user"}")
  fi
  for file in ${files[@]+"${files[@]}"}; do
    case $file in
      hdfs://*) text=$(hdfs dfs -cat "$file") ;;
      *) [[ -r ${file#file://} ]] && text=$(<"${file#file://}") ;;
    esac || { problem permanent "the credentials for registries cannot be read: $file"; return; }
    mapfile -t lines <<<"${text//$'\r'/}"
    ((${#lines[@]} == 3)) || { problem permanent "not three lines (server, user, password) in $file"; return; }
    same_registry "${lines[0]}" "$1" || continue
    PSL_LOGIN_USER=${lines[1]} PSL_LOGIN_PASSWORD=${lines[2]}
    return
  done
}

# Whether the server of some credentials is this registry; Docker Hub has several names, and none.
same_registry() {
  local server=${1#*://}
  server=${server%%/*}
  case $server in '' | docker.io | index.docker.io) server='registry-1.docker.io' ;; esac
  [[ $server == "$2" ]]
}

# setting NAME VALUE: a line of curl's configuration, in CONFIG. A newline in the value is no end of the line.
setting() {
  local value=${2//\\/\\\\}
  value=${value//\"/\\\"}
  PSL_CONFIG+="$1 = \"${value//$'\n'/\\n}\""$'\n'
}

# ask URL: with CONFIG; the answer, headers and body, in PSL_ANSWERED, the HTTP status in PSL_HTTP_STATUS. Nothing but https is spoken,
# to whom the registry sends us neither, and nothing of ~/.curlrc. More than a registry has to say is not read to its end.
ask() {
  local status=0 LC_ALL=C
  setting url "$1"
  if [[ ${PSL_CERTIFICATES-} ]]; then
    setting cacert "$PSL_CERTIFICATES"
  fi
  PSL_ANSWERED=$(
    set -o pipefail
    curl -q --globoff --proto =https --proto-redir =https --max-redirs 5 --config <(printf '%s' "$PSL_CONFIG") --silent --show-error \
      --include --connect-timeout 20 --max-time 60 --write-out '\n%{http_code}' | head -c "$PSL_MAX_RESPONSE_BYTES"
  ) || status=$?
  PSL_CONFIG='' PSL_HTTP_STATUS=''
  ((status || ${#PSL_ANSWERED} < PSL_MAX_RESPONSE_BYTES)) || status=23
  ((status)) || { PSL_HTTP_STATUS=${PSL_ANSWERED##*$'\n'} PSL_ANSWERED=${PSL_ANSWERED//$'\r'/}; }
  case $status in
    0) ;;
    60 | 77) problem permanent "the certificate of $PSL_REGISTRY is not trusted (site profile: containers.certificates)" ;;
    1) problem permanent "the registry $PSL_REGISTRY sends us to an address that is not https" ;;
    23) problem permanent "the registry $PSL_REGISTRY answers with more than $PSL_MAX_RESPONSE_BYTES bytes" ;;
    127) problem permanent "there is no curl on $SLURMD_NODENAME, which asks registries for images" ;;
    *) problem transient "no answer from the registry $PSL_REGISTRY (curl: status $status)" ;;
  esac
}

# header NAME: its last value in PSL_ANSWERED, in VALUE.
header() {
  local line
  PSL_VALUE=''
  while IFS= read -r line; do
    if [[ ${line,,} == "$1:"* ]]; then
      PSL_VALUE=${line#*:}
      PSL_VALUE=${PSL_VALUE# }
    fi
  done <<<"$PSL_ANSWERED"
}

# resolve_image REGISTRY REPOSITORY VERSION: in DIGEST. Returns 1 with a PSL_PROBLEM.
resolve_image() {
  local pause
  PSL_DIGEST=$3
  if is_digest "$3"; then
    return 0
  fi
  find_login "$1" || return
  for pause in $PSL_REGISTRY_PAUSES ''; do
    PSL_REGISTRY=$1 ask_for_digest "$2" "$3" && return
    [[ $PSL_KIND == transient && $pause ]] || return
    sleep "$pause"
  done
}

# Its path is made of it.
is_digest() { [[ $1 =~ ^sha256:[0-9a-f]{64}$ ]]; }

ask_for_digest() {
  local url=https://$PSL_REGISTRY/v2/$1/manifests/$2 image=$PSL_REGISTRY/$1:$2 token='' tries
  for tries in first second; do
    PSL_CONFIG=''
    setting header "$(manifest_types)"
    if [[ $token ]]; then setting header "Authorization: Bearer $token"
    elif [[ $tries == second ]]; then setting user "$PSL_LOGIN_USER:$PSL_LOGIN_PASSWORD"; fi
    PSL_CONFIG+='location'$'\n''head'$'\n'
    ask "$url" || return
    case $PSL_HTTP_STATUS:$tries in
      200:*)
        header docker-content-digest
        PSL_DIGEST=$PSL_VALUE
        is_digest "$PSL_DIGEST" ||
          problem permanent "the registry $PSL_REGISTRY does not say which digest $image has"
        return
        ;;
      401:first)
        header www-authenticate
        case ${PSL_VALUE,,} in
          basic*) [[ $PSL_LOGIN_USER ]] || break ;;
          bearer*) ask_for_token "$PSL_VALUE" "$1" || return ;;
          *) break ;;
        esac
        ;;
      401:* | 403:*) break ;;
      404:*) problem permanent "there is no image $image"; return ;;
      429:* | 5*) problem transient "the registry $PSL_REGISTRY answers with status $PSL_HTTP_STATUS for $image"; return ;;
      *) problem permanent "the registry $PSL_REGISTRY answers with status $PSL_HTTP_STATUS for $image"; return ;;
    esac
  done
  refused "$image"
}

refused() {
  if [[ $PSL_LOGIN_USER ]]; then
    problem permanent "the registry $PSL_REGISTRY refuses the user $PSL_LOGIN_USER the image $1"
  else
    problem permanent "the registry $PSL_REGISTRY gives the image $1 only to users, or does not have it; the job has no credentials for $PSL_REGISTRY"
  fi
}

# One that a tag stands for may be for several machines, or one.
manifest_types() {
  printf 'Accept: application/vnd.%s+json' oci.image.index.v1
  printf ', application/vnd.%s+json' oci.image.manifest.v1 docker.distribution.manifest.list.v2 docker.distribution.manifest.v2
}

# ask_for_token CHALLENGE REPOSITORY: in `token` of the caller.
ask_for_token() {
  local realm='' service='' scope=repository:$2:pull
  if [[ $1 =~ realm=\"([^\"]*)\" ]]; then
    realm=${BASH_REMATCH[1]}
  fi
  if [[ $1 =~ service=\"([^\"]*)\" ]]; then
    service=${BASH_REMATCH[1]}
  fi
  PSL_CONFIG='get'$'\n'
  if [[ $service ]]; then
    setting data-urlencode "service=$service"
  fi
  setting data-urlencode "scope=$scope"
  if [[ $PSL_LOGIN_USER ]]; then
    setting user "$PSL_LOGIN_USER:$PSL_LOGIN_PASSWORD"
  fi
  ask "$realm" || return
  case $PSL_HTTP_STATUS in
    200) ;;
    429 | 5*) problem transient "the registry $PSL_REGISTRY answers with status $PSL_HTTP_STATUS"; return ;;
    *) refused "$PSL_REGISTRY/$2"; return ;;
  esac
  [[ $PSL_ANSWERED =~ \"(access_)?token\"[[:space:]]*:[[:space:]]*\"([^\"[:space:][:cntrl:]]+)\" ]] ||
    { problem permanent "the registry $PSL_REGISTRY gives no token"; return; }
  token=${BASH_REMATCH[2]}
}
