#!/bin/bash
# The first process of the guest: its root is the machine's, and what it writes stays in its memory. Only the folder
# of the results is the machine's own.
# The kernel passes guest_results and guest_folder, of its parameters, as variables.
# shellcheck disable=SC2154
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root
modules=(/usr/lib/uml/modules/*)

mount -t proc proc /proc
mount -t tmpfs tmpfs /mnt
busybox insmod "${modules[-1]}/kernel/fs/overlayfs/overlay.ko"
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root || busybox poweroff -f
cd /mnt/root || busybox poweroff -f
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
mount --bind /dev dev
ln -sf /proc/self/fd /dev/fd
mkdir -p dev/pts dev/shm "usr/lib/modules/${modules[-1]##*/}"
mount -t devpts devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
mount --bind "${modules[-1]}" "usr/lib/modules/${modules[-1]##*/}"
mount -t hostfs -o "$guest_results" none "./$guest_results"
pivot_root . mnt
cd "$guest_folder" || busybox poweroff -f
hash -r
for module in bridge dummy nfs nfsd nfsv3 nfsv4 veth; do busybox modprobe "$module"; done
ip link set lo up
bash "$guest_results/command" </dev/null >"$guest_results/output" 2>&1
echo $? >"$guest_results/status"
sync
busybox poweroff -f
