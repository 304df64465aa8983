# Registries: which digest a tag has now, asked with curl. Names and passwords go to curl by a pipe, never as words.
# Source: OCI distribution specification, pull; Docker registry, token authentication.

# Seconds between the times that a registry is asked which does not answer, or has an error of its own.
readonly REGISTRY_PAUSES='1 4'
readonly MOST_ANSWER_BYTES=65536
KIND='' PROBLEM='' REGISTRY='' LOGIN_USER='' LOGIN_PASSWORD='' CONFIG='' ANSWERED='' HTTP_STATUS=''

# problem KIND TEXT: what stands in the way, and whether a retry may help: permanent or transient.
problem() {
  KIND=$1 PROBLEM=$2
  return 1
}

# find_login REGISTRY: the credentials for it, in LOGIN_USER and LOGIN_PASSWORD; empty if the job has none.
find_login() {
  local name file='' user text
  local -a lines files=()
  LOGIN_USER='' LOGIN_PASSWORD=''
  for name in ${LOGINS-}; do files+=("$SECRETS_FOLDER/$name"); done
  if [[ ${LOGIN_FILE+set} ]]; then
    user=$(id -un)
    printf -v file "%s$user" "${LOGIN_FILE[@]}"
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
    LOGIN_USER=${lines[1]} LOGIN_PASSWORD=${lines[2]}
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
  CONFIG+="$1 = \"${value//$'\n'/\\n}\""$'\n'
}

# ask URL: with CONFIG; the answer, headers and body, in ANSWERED, the HTTP status in HTTP_STATUS. Nothing but https is spoken,
# to whom the registry sends us neither, and nothing of ~/.curlrc. More than a registry has to say is not read to its end.
ask() {
  local status=0 LC_ALL=C
  setting url "$1"
  [[ ! ${CERTIFICATES-} ]] || setting cacert "$CERTIFICATES"
  ANSWERED=$(
    set -o pipefail
    curl -q --globoff --proto =https --proto-redir =https --max-redirs 5 --config <(printf '%s' "$CONFIG") --silent --show-error \
      --include --connect-timeout 20 --max-time 60 --write-out '\n%{http_code}' | head -c "$MOST_ANSWER_BYTES"
  ) || status=$?
  CONFIG='' HTTP_STATUS=''
  ((status || ${#ANSWERED} < MOST_ANSWER_BYTES)) || status=23
  ((status)) || { HTTP_STATUS=${ANSWERED##*$'\n'} ANSWERED=${ANSWERED//$'\r'/}; }
  case $status in
    0) ;;
    60 | 77) problem permanent "the certificate of $REGISTRY is not trusted (site profile: containers.certificates)" ;;
    1) problem permanent "the registry $REGISTRY sends us to an address that is not https" ;;
    23) problem permanent "the registry $REGISTRY answers with more than $MOST_ANSWER_BYTES bytes" ;;
    127) problem permanent "there is no curl on $SLURMD_NODENAME, which asks registries for images" ;;
    *) problem transient "no answer from the registry $REGISTRY (curl: status $status)" ;;
  esac
}

# header NAME: its last value in ANSWERED, in VALUE.
header() {
  local line
  VALUE=''
  while IFS= read -r line; do
    [[ ${line,,} != "$1:"* ]] || { VALUE=${line#*:}; VALUE=${VALUE# }; }
  done <<<"$ANSWERED"
}

# resolve_image REGISTRY REPOSITORY VERSION: in DIGEST. Returns 1 with a PROBLEM.
resolve_image() {
  local pause
  DIGEST=$3
  ! is_digest "$3" || return 0
  find_login "$1" || return
  for pause in $REGISTRY_PAUSES ''; do
    REGISTRY=$1 ask_for_digest "$2" "$3" && return
    [[ $KIND == transient && $pause ]] || return
    sleep "$pause"
  done
}

# Its path is made of it.
is_digest() { [[ $1 =~ ^sha256:[0-9a-f]{64}$ ]]; }

ask_for_digest() {
  local url=https://$REGISTRY/v2/$1/manifests/$2 image=$REGISTRY/$1:$2 token='' tries
  for tries in first second; do
    CONFIG=''
    setting header "$(manifest_types)"
    if [[ $token ]]; then setting header "Authorization: Bearer $token"
    elif [[ $tries == second ]]; then setting user "$LOGIN_USER:$LOGIN_PASSWORD"; fi
    CONFIG+='location'$'\n''head'$'\n'
    ask "$url" || return
    case $HTTP_STATUS:$tries in
      200:*)
        header docker-content-digest
        DIGEST=$VALUE
        is_digest "$DIGEST" ||
          problem permanent "the registry $REGISTRY does not say which digest $image has"
        return
        ;;
      401:first)
        header www-authenticate
        case ${VALUE,,} in
          basic*) [[ $LOGIN_USER ]] || break ;;
          bearer*) ask_for_token "$VALUE" "$1" || return ;;
          *) break ;;
        esac
        ;;
      401:* | 403:*) break ;;
      404:*) problem permanent "there is no image $image"; return ;;
      429:* | 5*) problem transient "the registry $REGISTRY answers with status $HTTP_STATUS for $image"; return ;;
      *) problem permanent "the registry $REGISTRY answers with status $HTTP_STATUS for $image"; return ;;
    esac
  done
  refused "$image"
}

refused() {
  if [[ $LOGIN_USER ]]; then
    problem permanent "the registry $REGISTRY refuses the user $LOGIN_USER the image $1"
  else
    problem permanent "the registry $REGISTRY gives the image $1 only to users, or does not have it; the job has no credentials for $REGISTRY"
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
  [[ ! $1 =~ realm=\"([^\"]*)\" ]] || realm=${BASH_REMATCH[1]}
  [[ ! $1 =~ service=\"([^\"]*)\" ]] || service=${BASH_REMATCH[1]}
  CONFIG='get'$'\n'
  [[ ! $service ]] || setting data-urlencode "service=$service"
  setting data-urlencode "scope=$scope"
  [[ ! $LOGIN_USER ]] || setting user "$LOGIN_USER:$LOGIN_PASSWORD"
  ask "$realm" || return
  case $HTTP_STATUS in
    200) ;;
    429 | 5*) problem transient "the registry $REGISTRY answers with status $HTTP_STATUS"; return ;;
    *) refused "$REGISTRY/$2"; return ;;
  esac
  [[ $ANSWERED =~ \"(access_)?token\"[[:space:]]*:[[:space:]]*\"([^\"[:space:][:cntrl:]]+)\" ]] ||
    { problem permanent "the registry $REGISTRY gives no token"; return; }
  token=${BASH_REMATCH[2]}
}
