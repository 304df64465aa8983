#!/bin/bash
# Builds a wheel inside a root tree, with what the compiler needs laid over the tree: what is written goes with this
# process, which is alone in a new mount namespace.
# Usage: pyslurm_build.sh TREE FOLDER REQUIREMENT
set -euo pipefail

tree=$1 folder=$2 requirement=$3

mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o "lowerdir=$tree,upperdir=/mnt/upper,workdir=/mnt/work" overlay /mnt/root
cd /mnt/root
for place in dev proc sys; do mount --rbind "/$place" "$place"; done
mkdir -p build etc/ssl/certs
mount --bind "$folder" build
cp /etc/resolv.conf etc/resolv.conf
cp /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/

# shellcheck disable=SC2016 # the inner shell expands it
exec chroot . bash -euo pipefail -c '
    apt-get --quiet --option Acquire::Check-Valid-Until=false update
    version=$(dpkg-query --show --showformat="\${Version}" slurm-client)
    apt-get --quiet --yes install --no-install-recommends "libslurm-dev=$version" python3-dev
    python3 -m venv /venv
    export SLURM_INCLUDE_DIR=/build SLURM_LIB_DIR=/usr/lib/x86_64-linux-gnu CFLAGS="-O0 -w -include /build/before.h"
    nice -n 10 /venv/bin/pip wheel --no-deps --no-binary "${1%%=*}" --wheel-dir /build "$1"
' build "$requirement"
