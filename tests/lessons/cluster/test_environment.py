"""Which rank a process is: every launcher alone, one inside another, and what is no rank."""

from __future__ import annotations

import pytest

from helpers.lessons.cluster.algorithms.environment import rank_in

SRUN = {"SLURM_PROCID": "10", "SLURM_STEP_NUM_TASKS": "12", "SLURM_LOCALID": "3"}
TORCHRUN = {"RANK": "4", "WORLD_SIZE": "6", "LOCAL_RANK": "1", "MASTER_ADDR": "n1"}
HOROVODRUN = {"HOROVOD_RANK": "2", "HOROVOD_SIZE": "5", "HOROVOD_LOCAL_RANK": "0"}
IBRUN = {"PMI_RANK": "7", "PMI_SIZE": "8", "MPI_LOCALRANKID": "3"}
BATCH = {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NTASKS": "12", "SLURM_JOB_ID": "7"}


@pytest.mark.parametrize(
    ("environ", "want"),
    [
        (SRUN, (10, 12, 3)),
        (TORCHRUN, (4, 6, 1)),
        (HOROVODRUN, (2, 5, 0)),
        (IBRUN, (7, 8, 3)),
        ({**BATCH, **IBRUN}, (7, 8, 3)),
        ({**BATCH, **SRUN, **TORCHRUN}, (4, 6, 1)),
        ({**BATCH, **SRUN, **HOROVODRUN}, (2, 5, 0)),
        ({**BATCH, **SRUN}, (10, 12, 3)),
        # srun with PMI, which tells the local rank by its own name.
        ({**SRUN, "PMI_RANK": "10", "PMI_SIZE": "12"}, (10, 12, 3)),
        # Nobody tells the local rank.
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, (1, 2, 0)),
    ],
)
def test_the_launcher_nearest_to_the_process_is_believed(
    environ: dict[str, str], want: tuple[int, int, int]
) -> None:
    assert rank_in(environ) == want


@pytest.mark.parametrize(
    "environ",
    [
        {},
        BATCH,
        {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4"},  # salloc's shell
        {"RANK": "major", "WORLD_SIZE": "large"},  # somebody's own
        {"MASTER_ADDR": "n1", "MASTER_PORT": "29500"},
    ],
)
def test_what_is_no_rank(environ: dict[str, str]) -> None:
    assert rank_in(environ) is None
