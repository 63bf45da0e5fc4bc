"""Which rank a process is, by the variables that its launcher left in the environment."""

from __future__ import annotations

from collections.abc import Mapping

from helpers.engine.cluster.known import LAUNCHERS


def rank_in(environ: Mapping[str, str]) -> tuple[int, int, int] | None:
    """This process's rank, the world size, and its local rank, on its node; None outside a job.

    environ: all variables of the process, as `os.environ` has them; it stays as it is. A job's
    batch script is no rank. The local rank is what chooses a GPU; 0 where the launcher does not say
    it, whatever another one has left.
    Example: rank_in({"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "1"}) is
    (3, 4, 1); rank_in({}) is None.
    """
    for each in LAUNCHERS:
        if {each.rank, each.size, each.sure or each.rank} <= environ.keys():
            local_rank = int(environ.get(each.local_rank, 0))
            return int(environ[each.rank]), int(environ[each.size]), local_rank
    return None
