#!/bin/bash
# Makes this process, alone in new mount, network, host name and IPC namespaces, into a host of the cluster,
# and stays as the process through which others enter it.
# Usage: host.sh INSTANCE TAG NAME [TREE FOLDER ...]
# With a TREE, the host's root is that root tree, in which the FOLDERs have the same paths as on the machine.
set -euo pipefail

instance=$1 tag=$2 name=$3 tree=${4-}

# Not chroot: the kernel refuses user namespaces, and with them rootless containers, to what was chrooted.
if [[ $tree ]]; then
    mount --bind "$tree" /mnt
    for folder in /dev /proc /sys; do mount --rbind "$folder" "/mnt$folder"; done
    for folder in /tmp "${@:5}"; do
        mkdir -p "/mnt$folder"
        mount --bind "$folder" "/mnt$folder"
    done
    mount -t tmpfs -o mode=755 tmpfs /mnt/run
    cd /mnt
    pivot_root . .
    umount --lazy .
    cd /
    hash -r
fi

# The name of this file system marks every process of the host, whoever its parent is.
mount -t tmpfs -o mode=755 "paislurm-$tag-$name" /run
mkdir -p /run/lock /run/munge /run/mysqld /run/slurm /run/sshd
mount --bind "$instance/run/munge" /run/munge
mount --bind "$instance/run/mysqld" /run/mysqld
ln -s mysqld /run/mariadbd

# Our few files of /etc lie over the machine's, which is read-only here: an apt-get on the machine replaces
# files by renaming, and that would undo bind mounts of single files.
mount -t overlay -o "ro,lowerdir=$instance/etc:/etc" overlay /etc
slurm=$instance/etc/slurm
if [[ -d $slurm-$name ]]; then
    slurm+=-$name
fi
mount --bind "$slurm" /etc/slurm

mount -t tmpfs -o mode=1777 tmpfs /dev/shm
if [[ $name != login ]]; then
    mount -t tmpfs -o mode=1777 tmpfs /tmp
fi

hostname "$name"
ip link set lo up

# Slurm names its control groups by node; a sub-tree for each host keeps two clusters apart.
for controller in freezer memory cpuset devices; do
    tree=/sys/fs/cgroup/$controller
    grep -q " $tree cgroup " /proc/mounts || continue
    group=$tree
    for level in "paislurm-$tag" "$name"; do
        parent=$group
        group=$parent/$level
        mkdir -p "$group"
        if [[ $controller == cpuset ]]; then
            cat "$parent/cpuset.cpus" >"$group/cpuset.cpus"
            cat "$parent/cpuset.mems" >"$group/cpuset.mems"
        fi
    done
    echo $$ >"$group/cgroup.procs"
    mount --bind "$group" "$tree"
done

# What the kind of the site has hosts do.
if [[ -e /etc/host.sh ]]; then
    # shellcheck source=/dev/null
    . /etc/host.sh
fi

# The start time (field 22) tells this process from a later one with the same id.
echo "$$ $(cut -d' ' -f22 /proc/$$/stat)" >"$instance/run/$name.pid.new"
mv "$instance/run/$name.pid.new" "$instance/run/$name.pid"
exec sleep infinity
