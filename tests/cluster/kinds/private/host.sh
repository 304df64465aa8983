# shellcheck shell=bash disable=SC2154 # name and instance are those of the script that reads this
# Where the folders are that jobs see as their /tmp.
if [[ $name != login ]]; then
    mount -t tmpfs -o mode=755 tmpfs /mnt
fi
