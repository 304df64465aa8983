#!/bin/bash
# Runs a script of bash inside a root tree, which stays as it is: what is written goes with this process, which is alone
# in a new mount namespace. FOLDER is /here meanwhile; apt knows the packages of the day.
# Usage: over_tree.sh TREE FOLDER SCRIPT [ARGUMENT ...]
set -euo pipefail

tree=$1 folder=$2 script=$3

mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o "lowerdir=$tree,upperdir=/mnt/upper,workdir=/mnt/work" overlay /mnt/root
cd /mnt/root
for place in dev proc sys; do mount --rbind "/$place" "$place"; done
mkdir -p here etc/ssl/certs
mount --bind "$folder" here
cp /etc/resolv.conf etc/resolv.conf
cp /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/
chroot . apt-get --quiet --option Acquire::Check-Valid-Until=false update
exec chroot . bash -euo pipefail -c "$script" "${@:3}"
