"""Answers to lesson 04 that no table lists: they are wrong, and what they are told is so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from helpers.checks import find
from helpers.engine.virtual import run_virtual
from helpers.lessons.frameworks.exercises.horovod import OfTorch
from tests.checks.table import verdict

who = find("04.6").reference


def in_floats(environment: Any) -> Any:
    """The right numbers, as no index."""
    return tuple(map(float, who(environment)))


def by_name(environment: Any) -> Any:
    """The right numbers in a dictionary."""
    return dict(zip(("rank", "size"), who(environment), strict=True))


WRONG: list[tuple[Callable[..., Any], str]] = [
    (in_floats, "the answer was (4.0, 6.0): make whole numbers"),
    (by_name, "return two numbers, rank and world size"),
]


@pytest.mark.parametrize(("answer", "piece"), WRONG)
def test_what_a_wrong_answer_is_told_is_so(answer: Callable[..., Any], piece: str) -> None:
    found = verdict(find("04.6"), answer)
    assert found.status == "wrong"
    assert piece in found.hint


def test_a_sum_of_integers_is_exact_as_horovod_has_it() -> None:
    def step_of_rank_0(comm: Any) -> Any:
        hvd = OfTorch(comm)
        mine = torch.tensor(0 if comm.rank else 2**24 + 1)
        return hvd.allreduce(mine, op=hvd.Sum, compression=hvd.Compression.fp16).item()

    assert list(run_virtual(step_of_rank_0, (), ranks=3, show=False)) == [2**24 + 1] * 3
