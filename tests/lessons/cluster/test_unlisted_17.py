"""Wrong answers of lesson 17 that its tables do not list are wrong all the same."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.checks import find
from helpers.engine.cluster.place import place
from tests.checks.table import verdict


def engines(environ: Any) -> Any:
    """The beginning of what the engine finds, which goes by SLURM's local rank for all."""
    found = place(environ)
    return found and found[:3]


def without_address(environ: Any) -> Any:
    """A RANK is believed, whoever has set it."""
    for rank, size, local in (
        ("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"),
        ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
        ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
    ):
        if rank in environ and size in environ:
            return int(environ[rank]), int(environ[size]), int(environ.get(local, 0))
    return None


def any_local_rank(environ: Any) -> Any:
    """Right but for a local rank that its launcher does not say: then it is another one's."""
    found = find("17.5").reference(environ)
    names = ("HOROVOD_LOCAL_RANK", "LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
    there = [int(environ[name]) for name in names if name in environ]
    return found and (*found[:2], found[2] or max(there, default=0))


@pytest.mark.parametrize("answer", [engines, any_local_rank])
def test_another_launchers_local_rank_is_none(answer: Any) -> None:
    found = verdict(find("17.5"), answer)
    assert found.status == "wrong" and found.mistake == "no local rank is 0"


def test_a_rank_without_an_address_is_somebodys() -> None:
    found = verdict(find("17.5"), without_address)
    assert found.status == "wrong" and "exported" in found.hint


def test_a_square_of_x_is_not_said_to_be_missing() -> None:
    def squared(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
        mtbf = 3600 * gpu_hours / gpus
        x = save / (2 * mtbf)
        bracket = 1 + x**0.5 / 3 + x * x / 9
        return mtbf if x >= 1 else (2 * save * mtbf) ** 0.5 * bracket - save

    assert "is not there, or is far smaller" in verdict(find("17.1"), squared).hint
