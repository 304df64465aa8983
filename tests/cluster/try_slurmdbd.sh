#!/bin/bash
# Start slurmdbd once inside a root tree, with a database of its own, and exit with 0 as soon as it listens.
# Else the last lines of slurmdbd are on standard error. Runs in namespaces of its own: what it starts ends with it.
# Usage: try_slurmdbd.sh TREE
set -euo pipefail

mount -t tmpfs -o mode=755 tmpfs "$1/run"
for place in dev proc; do mount --rbind "/$place" "$1/$place"; done
ip link set lo up
# slurmdbd binds where the host has an address beside the loopback ones.
ip address add 10.255.255.1/32 dev lo
exec chroot "$1" bash -euo pipefail -c '
mkdir -p /run/try /run/munge /run/mysqld
ln -s mysqld /run/mariadbd
cd /run/try
head -c 64 /dev/urandom >key
chmod 600 key
munged --force --key-file=/run/try/key --socket=/run/munge/munge.socket.2 --pid-file=/run/try/munged.pid \
  --seed-file=/run/try/seed --log-file=/run/try/munged.log 2>/dev/null
mariadb-install-db --no-defaults --user=root --datadir=/run/try/db --auth-root-authentication-method=normal >db.log 2>&1
mariadbd --no-defaults --user=root --datadir=/run/try/db --skip-networking --socket=/run/mysqld/mysqld.sock \
  --innodb-log-file-size=8M --innodb-buffer-pool-size=64M --loose-innodb-snapshot-isolation=OFF >>db.log 2>&1 &
until mariadb --no-defaults --socket=/run/mysqld/mysqld.sock -e "select 1" >/dev/null 2>&1; do
  kill -0 $! || { tail -n 5 db.log >&2; exit 1; }
  sleep 0.1
done
printf "%s\n" ClusterName=try SlurmctldHost=localhost AccountingStorageHost=localhost >slurm.conf
printf "%s\n" DbdHost=localhost SlurmUser=root StorageType=accounting_storage/mysql StorageUser=root \
  PidFile=/run/try/slurmdbd.pid StorageHost=localhost >slurmdbd.conf
chmod 600 slurmdbd.conf
SLURM_CONF=/run/try/slurm.conf slurmdbd -D >slurmdbd.log 2>&1 &
for ((tries = 0; tries < 300; tries++)); do
  (: </dev/tcp/127.0.0.1/6819) 2>/dev/null && exit 0
  kill -0 $! 2>/dev/null || break
  sleep 0.1
done
tail -n 5 slurmdbd.log >&2
exit 1
'
