"""The model of a step: equal to the virtual clock, found again from its own times, published."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.lessons.bandwidth.algorithms.scaling import (
    StepFit,
    fit_steps,
    ring_speedup,
    server_seconds,
)
from helpers.lessons.bandwidth.experiments.host_steps import push_pull_seconds, step_seconds
from helpers.lessons.bandwidth.experiments.speedup_cases import CASES, TEN_GBIT, Case
from helpers.lessons.messages.algorithms.cost_model import predicted_seconds


@pytest.mark.parametrize("hosts", [1, 2, 3, 5])
def test_a_ring_step_is_the_clocks(hosts: int) -> None:
    nbytes = 240 * hosts
    seconds = step_seconds(hosts, nbytes, 0.1, 1e5, engine="virtual")
    assert seconds == pytest.approx(
        0.1 + predicted_seconds("all_reduce_ring", hosts, nbytes, 50e-6, 1e5)
    )


@given(
    st.floats(1e-3, 10.0), st.floats(1e-6, 1e-2), st.floats(0.5, 1.0),
    st.sampled_from([(1, 2, 3), (1, 2, 4, 8), (1, 3, 5)]),
)  # fmt: skip
def test_a_fit_finds_what_made_its_times(
    compute: float, latency: float, share: float, workers: tuple[int, ...]
) -> None:
    made = StepFit(compute, latency, share)
    times = [made.seconds(n, 5e6, 25e6) for n in workers]
    with pytest.raises(ValueError, match="A fit needs"):
        fit_steps(workers[:2], times[:2], 5e6, 25e6)
    with pytest.raises(ValueError, match="above zero"):
        fit_steps(workers, [0.0, *times[1:]], 5e6, 25e6)
    found = fit_steps(workers, times, 5e6, 25e6)
    for n in (2, 4, 6, 8, 50):
        for bandwidth in (12.5e6, 25e6, 50e6):
            wanted = made.seconds(n, 5e6, bandwidth)
            assert found.seconds(n, 5e6, bandwidth) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize("servers", [1, 2, 4])  # whose links are full; with 4 the workers'
def test_pulls_and_pushes_are_the_clocks(servers: int) -> None:
    seconds = push_pull_seconds(4, servers, 4 * 1200, 1e6, engine="virtual")
    # Barriers and a worker's turn at the next server cost latencies.
    wanted = server_seconds(4, servers, 4 * 1200, 50e-6, 1e6)
    assert seconds == pytest.approx(wanted, rel=0.1)


def test_a_speedup_saturates() -> None:
    assert ring_speedup(1, 1.0, 50, 0.01, 100.0) == 1.0
    found = [ring_speedup(n, 1.0, 50, 0.0, 100.0) for n in (1, 8, 50, 1000)]
    assert found == sorted(found) and found[-1] / 1000 == pytest.approx(1 / 2, rel=0.01)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_stated_assumptions_give_what_was_published(case: Case) -> None:
    low, high = case.published
    assert case.speedup(1) == 1.0
    assert 0.95 * low <= case.speedup(case.gpus) <= 1.05 * high
    narrow, wide = (case.speedup(case.gpus, times * TEN_GBIT) for times in (0.5, 2))
    assert narrow < low and high < wide < case.gpus
    # What is lost is the exchange beside the computing, which a link of half the width doubles.
    lost = case.gpus / case.speedup(case.gpus) - 1
    assert case.gpus / narrow - 1 == pytest.approx(2 * lost, rel=0.03)
