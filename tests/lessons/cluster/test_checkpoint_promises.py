"""What `dcp.async_save` writes of values that change after the call."""

from __future__ import annotations

from pathlib import Path

import pytest

import helpers
from helpers.lessons.cluster.experiments.checkpoint_promises import (
    AT_THE_CALL,
    CASES,
    LATER,
    promises,
)


@pytest.mark.real
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
