#!/bin/sh
# The hosts of an elastic Horovod job, a line each, as HOST:SLOTS: Horovod runs this every second.
#
# Here they stand in a file, which whoever runs the cluster changes as machines come and go. On
# SLURM it could be: scontrol show hostnames "$SLURM_JOB_NODELIST"
#
#     HOSTS_FILE=hosts.txt sh cluster/discover_hosts.sh

exec cat "${HOSTS_FILE:-hosts.txt}"
