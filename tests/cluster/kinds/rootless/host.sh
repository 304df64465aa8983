# shellcheck shell=bash
# What Podman needs without root: control groups of version 2, mounts that are shared, and user ids beside the user's
# own, where the machine has a file for these.
mount --make-rshared /
umount --recursive /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
for file in subuid subgid; do
    [[ -e /etc/$file ]] || continue
    echo alice:1000000:65536 >"/run/$file"
    mount --bind "/run/$file" "/etc/$file"
done
