"""Wrong answers to lesson 13 that nobody's table lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from helpers.lessons.pipelines.algorithms.zero_bubble import zero_bubble
from helpers.lessons.pipelines.exercises import recompute
from tests.checks.table import is_told


def no_defaults(stages: int, microbatches: int, forward: float, backward: float) -> float:
    return (stages - 1) / (microbatches + stages - 1)


class _Evaluates(recompute.Again):
    @staticmethod
    def backward(ctx: Any, *gradient: Any) -> Any:
        ctx.fn.eval()
        return recompute.Again.backward(ctx, *gradient)


def without_dropout_the_second_time(fn: Any, x: Any) -> Any:
    return _Evaluates.apply(x, fn)


def twice_by_default(stage: int, stages: int, microbatches: int, times: int = 2) -> Any:
    return zero_bubble(stage, stages, microbatches, times)


@pytest.mark.parametrize(
    ("number", "answer", "says"),
    [
        ("13.1", no_defaults, "is called with 2 arguments"),
        ("13.5", without_dropout_the_second_time, "another than that of `fn`"),
        ("13.6", twice_by_default, "no times, which is 1 then"),
    ],
)
def test_it_is_wrong_and_told_what_was_seen(
    number: str, answer: Callable[..., Any], says: str
) -> None:
    is_told(number, answer, says)
