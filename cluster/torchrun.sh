#!/bin/bash
# Run a script under torchrun on hosts without a scheduler: type the same line on every host.
#
#     NODES=2 ADDRESS=10.0.0.1 bash cluster/torchrun.sh train.py
#
# ADDRESS is that of one of the hosts, as the others reach it, and PORT has to be open there. Every
# host needs the same script at the same place, and the same environment. The script calls
# helpers.comm(), or torch.distributed.init_process_group().

set -eu

nodes=${NODES:-1}
ranks_per_node=${RANKS_PER_NODE:-2}
address=${ADDRESS:-127.0.0.1}
port=${PORT:-29400}
restarts=${RESTARTS:-0}

# The script and its arguments. helpers.run writes its own here.
set -- "$@"
if [ "$#" = 0 ]; then
    echo "Use: NODES=2 ADDRESS=HOST bash cluster/torchrun.sh SCRIPT ..." >&2
    exit 2
fi

# On a host with several networks, gloo and NCCL may choose one that the others do not reach:
# export GLOO_SOCKET_IFNAME=eth0 NCCL_SOCKET_IFNAME=eth0
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"

exec python -m torch.distributed.run \
    --nnodes="$nodes" --nproc-per-node="$ranks_per_node" --max-restarts="$restarts" \
    --rdzv-backend=c10d --rdzv-endpoint="$address:$port" --rdzv-id=course "$@"
