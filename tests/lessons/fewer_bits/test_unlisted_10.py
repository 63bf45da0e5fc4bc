"""Answers to lesson 10 that no table lists: what each is told."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from helpers.lessons.fewer_bits.algorithms.loss_scale import next_scale
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring
from tests.checks.table import is_told


def within(*given: Any) -> Any:
    """A scale that ends at 2⁶⁴ and 2⁻²⁴."""
    scale, good = next_scale(*given)
    return min(max(scale, 2.0**-24), 2.0**64), good


def transposed_view(comm: Any, matrix: Any, right: Any) -> Any:
    left = torch.linalg.qr(all_reduce_ring(comm, (right.T @ matrix.T).T)).Q
    new = all_reduce_ring(comm, matrix.T @ left)
    return left @ new.T, new


@pytest.mark.parametrize(
    ("number", "answer", "told"),
    [
        ("10.2", within, "you say (5.9605e-08, 0)"),
        ("10.4", transposed_view, "a transposed view does not"),
    ],
)
def test_it_is_told_what_was_seen(number: str, answer: Any, told: str) -> None:
    is_told(number, answer, told)
