#!/bin/bash
# Records the process id, joins the host's control groups and becomes the daemon. Runs inside the host.
# Usage: daemon.sh PIDFILE COMMAND...
set -euo pipefail

pidfile=$1
shift

for controller in freezer memory cpuset devices; do
    if grep -q " /sys/fs/cgroup/$controller cgroup " /proc/mounts && [[ -w /sys/fs/cgroup/$controller/cgroup.procs ]]; then
        echo $$ >"/sys/fs/cgroup/$controller/cgroup.procs"
    fi
done

# The start time (field 22) tells this process from a later one with the same id.
echo "$$ $(cut -d' ' -f22 /proc/$$/stat)" >"$pidfile.new"
mv "$pidfile.new" "$pidfile"
exec "$@"
