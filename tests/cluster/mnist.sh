#!/bin/sh
# Stands in for what CPU_500Task_MNIST.yaml calls by these names: 500 tasks leave their results, and one collects them.
# Its tasks have thousands of variables, which bash takes a while to read.
name=${0##*/}
for last; do :; done

case "$name $*" in
  'wget https://'*) : >"${last##*/}" ;;
  'python mnist_lr_500.py --epoch 5 --task_index='*) echo "${last#*=}" >results.csv ;;
  'mount -t nfs4 10.151.40.235:/data data')
    mv data under
    ln -s /mnt/confignfs data
    ;;
  'python get_results.py --number=500 --data_path '*)
    # A result that never comes is a task that never ends, and the test's time-out.
    set --
    until [ $# = 500 ]; do
      sleep 0.5
      set -- "$last"*.csv
    done
    sort -n -- "$@" >/mnt/confignfs/collected
    ;;
  'apt-get update' | 'apt-get install --assume-yes nfs-common' | 'jupyter notebook') ;;
  *)
    echo "called $name $*" >&2
    exit 1
    ;;
esac
