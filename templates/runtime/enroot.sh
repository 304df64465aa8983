# Enroot, which is what pyxis starts containers with: here the shell of the task starts it, and so has Slurm outside of the
# container and the task inside. Source: enroot, documents of `import` and `start`, standard hooks, image format.

readonly IMAGE_SUFFIX='.sqsh'

# fetch_by_runtime NEW REGISTRY REPOSITORY DIGEST: as one file. All that is on the way is beside it, and goes with it.
fetch_by_runtime() {
  local log=$1.log name
  command -v enroot >/dev/null || { problem permanent "there is no enroot on $SLURMD_NODENAME, which fetches images"; return; }
  mkdir -p -- "$1.config" "$1.tmp" || { problem permanent "cannot write to $CACHE"; return; }
  [[ $LOGIN_USER$LOGIN_PASSWORD != *[[:space:]]* ]] ||
    { problem permanent "enroot takes no credentials with blanks in them, as those for $2 have"; return; }
  if [[ $LOGIN_USER ]]; then
    # Tokens may come from another server than the registry.
    for name in "${2%%:*}" auth.docker.io authn.nvidia.com; do
      [[ $name == "${2%%:*}" || $2$name == registry-1.docker.ioauth.docker.io || $2$name == nvcr.ioauthn.nvidia.com ]] || continue
      printf 'machine %s login %s password %s\n' "$name" "$LOGIN_USER" "$LOGIN_PASSWORD"
    done >"$1.config/.credentials"
  fi
  (
    [[ ! ${CERTIFICATES-} ]] || export CURL_CA_BUNDLE="$CERTIFICATES"
    ENROOT_CONFIG_PATH=$1.config ENROOT_CACHE_PATH=$1.tmp ENROOT_TEMP_PATH=$1.tmp \
      enroot import --output "$1" "docker://$2#$3:$4"
  ) </dev/null >"$log" 2>&1 || pull_problem "$2/$3@$4" "$log"
}

# pull_problem IMAGE LOG: the image was there a moment ago, by what the registry says.
pull_problem() {
  local line last=''
  while IFS= read -r line; do
    say "enroot: $line"
    [[ $line != *'[ERROR]'* ]] || last=${line#*'[ERROR]'}
  done <"$2"
  case $last in
    *' 401'* | *' 403'* | *' 404'*) problem permanent "the image $1 cannot be fetched:$last" ;;
    *) problem transient "the image $1 cannot be fetched: ${last:-see srun/image-*.log}" ;;
  esac
}

prepare_runtime() {
  local image=${IMAGE_OF[ROLE]}
  is_there enroot || return
  refuse_odd_paths || return
  [[ -f $image ]] || { say "error: the image $image is not on $SLURMD_NODENAME"; return 1; }
}

# enter_container ROOT INDEX ATTEMPT: become the container of the task, by the image's file, of which changes are in memory.
# The hooks of enroot see to GPUs and HCAs, by the variables of the task. `--rc` takes the place of the image's entrypoint.
enter_container() {
  local root=$1 i
  local -a options=(
    --rw --root "--rc=$root/rc" "--mount=$CALLS:$CALLS:none:x-create=dir,bind" "--mount=$root/hosts:/etc/hosts:none:x-create=file,bind"
    "--mount=tmpfs:/dev/shm:tmpfs:x-create=dir,size=${SHM_OF[ROLE]}m,mode=1777"
  )
  for ((i = 0; i < ${#BINDS[@]}; i += 2)); do options+=("--mount=${BINDS[i]}:${BINDS[i + 1]}:none:x-create=dir,rbind"); done
  if ((ROLE_GPUS[ROLE])); then options+=("--env=NVIDIA_VISIBLE_DEVICES" "--env=NVIDIA_DRIVER_CAPABILITIES=all"); fi
  [[ ! ${INFINIBAND_OF[ROLE]-} ]] || options+=("--env=MELLANOX_VISIBLE_DEVICES=all")
  # shellcheck disable=SC2016 # for the shell in there
  printf 'exec "$@"\n' >"$root/rc" || exit
  exec env -i "HOME=$HOME" "USER=$PAI_USER_NAME" "PATH=$PATH" "XDG_RUNTIME_DIR=$root" "NVIDIA_VISIBLE_DEVICES=${NVIDIA_VISIBLE_DEVICES-}" \
    enroot start "${options[@]}" "${IMAGE_OF[ROLE]}" bash "$SCRIPT" --inside "$FOLDER" "$ATTEMPT" "$ROLE" "$SLOT" "$2" "$3"
}
