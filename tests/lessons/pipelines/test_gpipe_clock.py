"""GPipe's published speedups, from its schedule on the virtual clock."""

from __future__ import annotations

import pytest

from helpers.lessons.pipelines.algorithms.schedules import bubble, gpipe
from helpers.lessons.pipelines.experiments.gpipe_clock import (
    BUBBLE_ALONE,
    DEVICES,
    FITTED,
    MICROBATCHES,
    samples,
    speedups,
)
from helpers.notebook.published import load


def test_published_speedups_within_fifteen_per_cent():
    paper, ours = load("gpipe_table2_speedup").data, speedups(FITTED, gpipe)
    assert paper["devices"] == list(DEVICES)
    assert list(ours) == list(paper["transformer"])
    for row, values in ours.items():
        assert values == pytest.approx(paper["transformer"][row], rel=0.15), row


def test_the_bubble_alone_is_the_formula():
    ours = speedups(BUBBLE_ALONE, gpipe)
    one = 2 * (1 - bubble(2, 1))
    for m in MICROBATCHES:
        expected = [k * (1 - bubble(k, m)) / one for k in DEVICES]
        assert ours[f"M{m}"] == pytest.approx(expected, rel=1e-12)


def test_microbatches_are_as_large_as_memory_or_the_batch_allows():
    assert [samples(k, 1) for k in DEVICES] == [2, 4, 8]
    assert [samples(k, 32) for k in DEVICES] == [2, 2, 2]
