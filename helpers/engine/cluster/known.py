"""What each launcher calls a process's rank, the world size and the local rank.

Launchers start one another: `srun` starts an agent on each node, and the agent, torchrun, starts
the ranks. All of them leave their variables behind, so the one nearest to the process is asked
first.

Sources: the manuals of torchrun ("Environment Variables"), Horovod ("Run with MPI, Gloo"), srun
("OUTPUT ENVIRONMENT VARIABLES"), and of TACC's ibrun with Intel MPI's process manager.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Launcher(NamedTuple):
    """What a launcher calls the three numbers. sure: must be there besides rank and size."""

    name: str
    rank: str
    size: str
    local_rank: str
    sure: str = ""

    def among_its_node(self, environ: Mapping[str, str]) -> int:
        """The local rank: SLURM's word where the launcher does not say, 0 where nobody does."""
        return int(environ.get(self.local_rank, environ.get("SLURM_LOCALID", "0")))


LAUNCHERS = (
    Launcher("horovodrun", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"),
    # RANK and WORLD_SIZE are names that anybody may use; torchrun sets all of these.
    Launcher("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR"),
    # ibrun's ranks still have the SLURM_PROCID of the batch script, which is 0 for all of them.
    Launcher("ibrun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    # The batch script has SLURM_PROCID and SLURM_NTASKS as well, but is no rank: only where srun
    # has started a step does it say how many tasks the step has.
    Launcher("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
)
"""The nearest to the process first."""
