"""The model of a step: equal to the virtual clock, and found again from its own times."""

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
    found = fit_steps(workers, times, 5e6, 25e6)
    for n in (2, 4, 6, 8, 50):
        for bandwidth in (12.5e6, 25e6, 50e6):
            wanted = made.seconds(n, 5e6, bandwidth)
            assert found.seconds(n, 5e6, bandwidth) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize(
    ("workers", "seconds"), [([1, 2], [1, 1]), ([2, 3, 4], [1, 1, 1]), ([1, 2, 3], [1, 1])]
)
def test_too_few_runs_get_a_sentence(workers: list[int], seconds: list[float]) -> None:
    with pytest.raises(ValueError, match="A fit needs"):
        fit_steps(workers, seconds, 5e6, 25e6)
    with pytest.raises(ValueError, match="above zero"):
        fit_steps([1, 2, 3], [1, 0, 1], 5e6, 25e6)


def test_servers_fill_their_links_or_the_workers_theirs() -> None:
    assert server_seconds(4, 1, 100, 0.0, 10.0) == 80
    assert server_seconds(4, 2, 100, 0.0, 10.0) == 40
    assert server_seconds(4, 8, 100, 0.0, 10.0) == 20


@pytest.mark.parametrize("servers", [1, 2, 4])
def test_pulls_and_pushes_are_the_clocks(servers: int) -> None:
    seconds = push_pull_seconds(4, servers, 4 * 1200, 1e6, engine="virtual")
    # Barriers and a worker's turn at the next server cost latencies.
    wanted = server_seconds(4, servers, 4 * 1200, 50e-6, 1e6)
    assert seconds == pytest.approx(wanted, rel=0.1)


def test_a_speedup_saturates() -> None:
    assert ring_speedup(1, 1.0, 50, 0.01, 100.0) == 1.0
    found = [ring_speedup(n, 1.0, 50, 0.0, 100.0) for n in (1, 8, 50, 1000)]
    assert found == sorted(found) and found[-1] / 1000 == pytest.approx(1 / 2, rel=0.01)
