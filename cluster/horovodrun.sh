#!/bin/bash
# Run a script on Horovod's ranks: type this on one host, which starts the ranks on all of them.
#
#     bash cluster/horovodrun.sh train.py
#     HOSTS=gpu1:4,gpu2:4 RANKS=8 bash cluster/horovodrun.sh train.py --epochs 3
#
# HOSTS gives each host its number of ranks. horovodrun reaches other hosts by ssh, which must not ask
# for a password; they need the same script at the same place, and the same environment. On an
# allocation of SLURM, where nodes let in by ssh who has a job there:
#
#     HOSTS=$(scontrol show hostnames | sed 's/$/:4/' | paste -sd,) RANKS=8 bash cluster/horovodrun.sh train.py
#
# Both names below are this machine. The script calls helpers.comm(), or hvd.init().

set -eu

ranks=${RANKS:-4}
hosts=${HOSTS:-localhost:2,127.0.0.1:2}

# The script and its arguments. helpers.run writes its own here.
set -- "$@"
if [ "$#" = 0 ]; then
    echo "Use: HOSTS=gpu1:4,gpu2:4 RANKS=8 bash cluster/horovodrun.sh SCRIPT ..." >&2
    exit 2
fi

# On hosts with several networks, add --network-interfaces eth0: the one that reaches all of them.
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
exec horovodrun -np "$ranks" -H "$hosts" --gloo python "$@"
