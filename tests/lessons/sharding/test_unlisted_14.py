"""Lesson 14: wrong answers that no table lists, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

from helpers.checks import find
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, chunk_bounds
from tests.checks.table import is_told


def every_unit_without_a_product(
    comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any
) -> Any:
    start, stop = chunk_bounds(len(up), comm.size)[comm.rank]
    units = functional.gelu((x[:, None] * up).sum(-1) + up_bias)
    own = torch.zeros_like(units)
    own[:, start:stop] = units[:, start:stop]
    return all_reduce_ring(comm, (own[:, None] * down).sum(-1)) + down_bias


def copies_by_arithmetic(comm: Any) -> Any:
    class G(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return all_reduce_ring(comm, x * 1.0)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0]

    return find("14.2").reference(comm)[0], G.apply


def the_other_way_round(comm: Any, *args: Any) -> Any:
    return find("14.3").reference(comm, *args)[::-1]


def always_nine_tenths(
    comm: Any, parameters: Any, gradient: Any, momentum: Any, rate: float, beta: float
) -> None:
    find("14.5").reference(comm, parameters, gradient, momentum, rate, 0.9)


def in_a_width_of_three(comm: Any, query: Any, *rest: Any) -> Any:
    return find("14.7").reference(comm, query * (query.shape[-1] / 3) ** 0.5, *rest)


def one_at_least(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    return find("14.8").reference(comm, x, choice, max(capacity, 1), expert)


@pytest.mark.parametrize(
    ("number", "answer", "words"),
    [
        ("14.1", every_unit_without_a_product, "units that are not its own took part in it"),
        ("14.2", copies_by_arithmetic, "`empty_like` or arithmetic"),
        ("14.3", the_other_way_round, "return (loss, gradient)"),
        ("14.5", always_nine_tenths, "are not those of the same step"),
        ("14.7", in_a_width_of_three, "in any order"),
        ("14.8", one_at_least, "one more went"),
    ],
)
def test_it_is_wrong_in_cases_that_are_seen_and_is_told_so(
    number: str, answer: Any, words: str
) -> None:
    is_told(number, answer, words, (0, 1))
