"""The published speedups of lesson 09: the stated assumptions give each, and links move them."""

from __future__ import annotations

import pytest

from helpers.lessons.bandwidth.experiments.speedup_cases import CASES, TEN_GBIT, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_assumptions_give_what_was_published(case: Case) -> None:
    low, high = case.published
    assert 0.95 * low <= case.speedup(case.gpus) <= 1.05 * high
    narrow, wide = (case.speedup(case.gpus, times * TEN_GBIT) for times in (0.5, 2))
    assert narrow < low and high < wide < case.gpus
    # What is lost is the exchange beside the computing, which a link of half the width doubles.
    lost = case.gpus / case.speedup(case.gpus) - 1
    assert case.gpus / narrow - 1 == pytest.approx(2 * lost, rel=0.03)


def test_one_gpu_is_one_gpu() -> None:
    assert {case.speedup(1) for case in CASES} == {1.0}
