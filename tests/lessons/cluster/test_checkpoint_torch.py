"""torch.distributed.checkpoint: on other ranks, asynchronously, and what a cut-off save leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

import helpers
from helpers.lessons.cluster.experiments.checkpoint_kills import SAME, resumed
from helpers.lessons.cluster.experiments.checkpoint_promises import (
    AT_THE_CALL,
    CASES,
    LATER,
    promises,
)
from helpers.lessons.cluster.experiments.checkpoint_torch import METADATA, torch_latest
from helpers.lessons.cluster.experiments.checkpoint_training import Setting

SHORT = Setting(steps=6, every=2, hidden=(12,))
pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("ranks", "on"), [(1, (2,)), pytest.param(4, (2, 3), marks=pytest.mark.thorough)]
)
def test_dcp_goes_on_on_other_ranks(ranks: int, on: tuple[int, ...], tmp_path: Path) -> None:
    found = resumed(tmp_path, ranks, on, "torch", setting=SHORT)
    assert found.worst <= SAME and found.step == 2
    folder = tmp_path / f"on {on[-1]}"
    assert torch_latest(folder) == 6 and len(list(folder.iterdir())) == SHORT.keep
    (folder / "step-00000006" / METADATA).unlink()  # as a kill leaves it
    assert torch_latest(folder) == 4
    assert torch_latest(tmp_path / "nothing") is None


@pytest.mark.thorough
def test_async_save_goes_on_as_well(tmp_path: Path) -> None:
    assert resumed(tmp_path, 4, (2, 3), "torch, asynchronous", setting=SHORT).worst <= SAME


@pytest.mark.thorough
def test_what_async_save_writes_of_values_that_change(tmp_path: Path) -> None:
    for found in helpers.run(promises, tmp_path, ranks=2, show=False, device="cpu"):
        assert [each.case for each in found] == list(CASES)
        values = {each.case: each.value for each in found}
        # By itself it copies before it comes back: pytorch's issue 144657 is mended here.
        assert values["by itself"] == AT_THE_CALL
        assert values["a stager"] == values["a stager with shared memory"] == AT_THE_CALL
        assert values["the writer stages"] == AT_THE_CALL
        # A thread that stages copies what it finds then: staging has to be waited for.
        assert values["staged in a thread"] == LATER
        assert values["staged in a thread, waited for"] == AT_THE_CALL
        # A stager keeps its copy and uses it again: a save under way is written over by the next.
        assert values["one stager for two saves"] == LATER
        assert [each.as_at_the_call for each in found] == [
            v == AT_THE_CALL for v in values.values()
        ]
