# shellcheck shell=bash disable=SC2154 # name and instance are those of the script that reads this
# Users may not call sacct.
if [[ $name == login ]]; then
    mkdir -p /run/guarded
    install -m 700 /usr/bin/sacct /run/guarded/sacct
    mount -t overlay -o "ro,lowerdir=/run/guarded:/usr/bin" overlay /usr/bin
fi
