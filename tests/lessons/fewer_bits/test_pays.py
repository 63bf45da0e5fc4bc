"""When a scheme pays: the formula's two ends, and what an independent sum of parts says."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lessons.fewer_bits.algorithms.pays import break_even
from helpers.lessons.fewer_bits.algorithms.step_cost import Scheme, compressed_step


def parts(scheme: Scheme, compute: float, nbytes: float, workers: int, rate: float) -> float:
    """A step's seconds, added up message by message of the ring."""
    chunk = scheme.share * nbytes / workers
    messages = sum(chunk / rate for _ in range(2 * (workers - 1)))
    return compute + (scheme.coding * nbytes + messages) / scheme.interval


seconds = st.floats(1e-3, 1.0)


@settings(deadline=None)
@given(
    seconds, st.floats(1e3, 1e8), st.integers(2, 64), st.floats(0.01, 0.9), st.floats(1e-11, 1e-8),
    st.floats(1e5, 1e10), st.integers(1, 500),
)  # fmt: skip
def test_both_agree_and_at_the_bandwidth_found_neither_is_quicker(
    compute: float, nbytes: float, workers: int, share: float, coding: float, rate: float, h: int
) -> None:
    scheme = Scheme("some", share, coding)
    for each in (scheme, Scheme("often", share, coding, h)):
        got = compressed_step(each, compute, nbytes, workers, 0.0, rate)
        assert got == pytest.approx(parts(each, compute, nbytes, workers, rate), rel=1e-9)
    plain = parts(Scheme("plain"), compute, nbytes, workers, rate)
    even = 2 * (workers - 1) / workers * (1 - share) / coding  # of neither bytes nor computing
    # Differences of measured steps lose digits where sending takes next to nothing.
    if scheme.coding * nbytes > 1e-6 and plain - compute > 1e-6:
        found = break_even(
            compute, nbytes, workers, share, plain, parts(scheme, compute, nbytes, workers, rate)
        )
        assert found == pytest.approx(even, rel=1e-3)


def test_edges() -> None:
    assert break_even(0.1, 1e6, 2, 0.5, 0.3, 0.22) == pytest.approx(25e6)
    assert break_even(0.25, 1e6, 2, 0.5, 0.5, 0.375) == math.inf
    assert break_even(0.1, 1e6, 2, 0.5, 0.3, 0.19) == math.inf
    assert compressed_step(Scheme("plain"), 0.1, 1e6, 1, 1.0, 1e6) == 0.1
    assert compressed_step(Scheme("plain"), 0.0, 0.0, 3, 0.5, 1e6) == 2.0
