#!/bin/bash
# Makes this process, alone in new mount, network, host name and process namespaces, into a machine that has no Slurm and
# shares no file with the cluster: the home of ann, and the checkout, is all that it has. Others enter it through this process.
# Usage: laptop.sh FOLDER CLUSTER CHECKOUT
set -euo pipefail

folder=$1 cluster=$2 checkout=$3

mount -t tmpfs tmpfs /opt
mkdir /opt/paislurm
mount --bind "$checkout" /opt/paislurm
mount -t tmpfs tmpfs /home
mkdir /home/ann
mount --bind "$folder/home" /home/ann
mount -t overlay -o "ro,lowerdir=$folder/etc:/etc" overlay /etc
mount -t tmpfs -o mode=1777 tmpfs /tmp

mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work
mount -t overlay -o lowerdir=/usr/bin,upperdir=/mnt/upper,workdir=/mnt/work overlay /usr/bin
cd /usr/bin
rm -f sbatch squeue scancel sacct sacctmgr scontrol sinfo srun
cat >paislurm <<'END'
#!/bin/sh
exec env PYTHONPATH=/opt/paislurm/src /opt/paislurm/.venv/bin/python -m paislurm.translator.cli.start "$@"
END
chmod 755 paislurm
cd /

# The cluster's files are not here; this machine's own are elsewhere.
mount -t tmpfs tmpfs "$cluster"
mount -t proc proc /proc
hostname laptop
ip link set lo up
touch "$folder/ready"
exec sleep infinity
