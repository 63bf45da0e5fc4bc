"""Say which rank of a job this is, and add up all ranks' numbers: a first job for a cluster.

    sbatch cluster/run.slurm cluster/who.py
    bash cluster/torchrun.sh cluster/who.py

Whoever starts it, torchrun, srun, ibrun or horovodrun, it finds its place by what they leave in the
environment.
"""

from __future__ import annotations

import torch
import torch.distributed as dist

import helpers


def main() -> None:
    """One line from each rank, and a sum that no rank could have alone."""
    comm = helpers.comm()
    total = torch.tensor([1 + comm.rank])
    dist.all_reduce(total)
    of = f"the sum of 1 to {comm.size} is {int(total)}"
    # The line and its end in one write, or the lines of two ranks mix in the job's log.
    print(f"rank {comm.rank} of {comm.size} on {comm.host}: {of}\n", end="", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
