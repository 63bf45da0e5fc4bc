"""What if nobody were late: the replay against the clock, against itself, and by properties."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import helpers
from helpers.engine.servers.training import Training
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import Synchronous
from helpers.lessons.spare_replicas.algorithms.blame import Blame, lasted
from helpers.lessons.spare_replicas.algorithms.what_if import (
    Operations,
    operations,
    replay,
    usual,
    what_if,
)
from helpers.lessons.spare_replicas.experiments.traced_steps import NoGradients, begun_and_ready

Moments = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class FromTable:
    """Step times of a table, a row a gradient and a column a worker; over again at its end."""

    table: np.ndarray

    def stream(self, worker: int, seed: int) -> Iterator[float]:
        """One worker's seconds."""
        while True:
            yield from self.table[:, worker].tolist()


def by_a_server(table: np.ndarray, engine: str = "virtual", **links: float) -> Training:
    """Synchronous training whose steps take what stands in the table."""
    steps, workers = table.shape
    times = {"times": FromTable(table)} if engine == "virtual" else {}
    return helpers.train(
        lambda weights: Synchronous(weights, Sgd(0.1), workers),
        workers=workers, updates=steps, task=NoGradients(), batch=1, engine=engine, trace=True,
        **times, **links,
    )  # fmt: skip


def over_a_ring(table: np.ndarray, floats: list[int]) -> Any:
    """The trace of ranks that compute, and then add up so many numbers over a ring."""

    def steps(comm: Any) -> None:
        for seconds, count in zip(table[:, comm.rank], floats, strict=True):
            comm.compute(float(seconds))
            all_reduce_ring(comm, torch.zeros(count))

    ranks = table.shape[1]
    return helpers.run(steps, ranks=ranks, engine="virtual", latency=0.001, bandwidth=1e6).trace


def constant(steps: int, workers: int, seconds: float = 1.0) -> np.ndarray:
    """Steps that all take as long."""
    return np.full((steps, workers), seconds)


def slower(table: np.ndarray, **factors: float) -> np.ndarray:
    """A copy in which worker 3 is slowed by w3=2.0."""
    table = table.copy()
    for worker, factor in factors.items():
        table[:, int(worker[1:])] *= factor
    return table


RANDOM = np.random.default_rng(7)
JITTER = RANDOM.normal(1, 0.02, (60, 5))
UNEVEN = RANDOM.uniform(0.5, 2.0, (24, 1)) * constant(24, 3)
STOPS = UNEVEN + 3.0 * (np.arange(24)[:, None] % 4 == 0) * [0, 1, 0]
MANY = constant(40, 20)
NOW_AND_THEN = MANY * np.where(RANDOM.random(MANY.shape) < 0.05, 4.0, 1.0)
FIVE, EIGHT, FOUR = constant(12, 5, 0.5), constant(10, 8, 0.4), RANDOM.normal(0.4, 0.004, (16, 4))
MOVES = FOUR * np.where(np.arange(4) == np.arange(16)[:, None] // 4, 4, 1)
SETTINGS: dict[str, Any] = {  # what is usual, what the straggling run takes, links or messages
    "1 worker": (constant(9, 1), constant(9, 1), {"latency": 0.02}),
    "3 workers, uneven steps, one stops": (UNEVEN, STOPS, {"latency": 0.05}),
    "5 workers with jitter, one slow": (JITTER, slower(JITTER, w0=2.5), {"latency": 0.01}),
    "a narrow link": (constant(20, 4), slower(constant(20, 4), w3=3), {"bandwidth": 40.0}),
    "20 workers, anybody now and then": (MANY, NOW_AND_THEN, {"latency": 0.01}),
    "ring of 5, one slow": (FIVE, slower(FIVE, w2=3), [50_000] * 12),
    "ring of 8, two slow": (EIGHT, slower(EIGHT, w1=2, w6=3), [20_000] * 10),
    "ring of 4, uneven messages, the straggler changes": (FOUR, MOVES, [1_000, 60_000] * 8),
}


def moments(table: np.ndarray, how: Any) -> Moments:
    """When each worker began its steps, and when its gradients were ready."""
    ring = isinstance(how, list)
    trace = over_a_ring(table, how) if ring else by_a_server(table, **how).trace
    return begun_and_ready(trace)


@pytest.mark.parametrize("name", SETTINGS)
def test_without_its_stragglers_a_run_takes_what_the_clock_says(name: str) -> None:
    as_usual, straggling, how = SETTINGS[name]
    blame = Blame(*moments(straggling, how), what_if)
    known = lasted(moments(as_usual, how)[0])
    assert abs(blame.error) < 1e-9
    assert blame.without(blame.stragglers()) == pytest.approx(known, rel=0.02)
    late = (straggling > as_usual).any(axis=0)
    assert set(np.flatnonzero(late)) >= set(blame.stragglers())
    assert name == "1 worker" or blame.slowdown > 1.3


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_with_nobody_fixed_it_is_the_run_itself(engine: str, workers: int) -> None:
    run = by_a_server(constant(6, workers, 0.01), engine)
    assert run.trace is not None
    begun, ready = begun_and_ready(run.trace, first=1)
    assert (begun[1:] >= ready.max(dim=1, keepdim=True).values).all()
    for one, other in zip(what_if(begun, ready, []), (begun, ready), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


TABLES = st.integers(1, 6).flatmap(
    lambda workers: st.lists(
        st.lists(st.floats(0.1, 9.0), min_size=2 * workers, max_size=2 * workers),
        min_size=1,
        max_size=8,
    )
)


def run_of(computing: Tensor, sending: Tensor) -> Moments:
    """A run by its operations."""
    begun, ready = [torch.zeros(computing.shape[1], dtype=torch.float64)], []
    for took, sent in zip(computing, sending, strict=True):
        ready.append(begun[-1] + took)
        begun.append(ready[-1].max() + sent)
    return torch.stack(begun), torch.stack(ready)


@given(TABLES)
@settings(max_examples=20, deadline=None)
def test_operations_made_the_run_and_where_all_send_equally_long_nothing_gets_slower(
    rows: list[list[float]],
) -> None:
    both = torch.tensor(rows, dtype=torch.float64).chunk(2, dim=1)
    for found, made in zip(operations(*run_of(*both)), both, strict=True):
        torch.testing.assert_close(found, made, rtol=0, atol=1e-9)
    blame = Blame(*run_of(both[0], both[1][:, :1].expand_as(both[1])), what_if)
    assert blame.slowdown >= 1 - 1e-12
    for worker in blame.workers:
        assert 1 - 1e-12 <= blame.cost(worker) <= blame.slowdown + 1e-12


def test_the_lower_of_two_is_usual_and_who_was_not_there_does_not_count() -> None:
    computing = torch.tensor([[1.0, 9.0, math.nan], [4.0, 2.0, 3.0]])
    assert usual(computing).tolist() == [[1.0], [3.0]]


def test_a_spare_worker_drops_out_and_joins_the_step_that_goes_on() -> None:
    computing = torch.tensor([[1.0, 2.0, 5.0], [1.0, 1.0, math.nan], [1.0, 2.0, 1.0]])
    sending = torch.full((3, 3), 0.5)
    # Updates at 2, at 2 + 0.5 + 1, then worker 0 at 5 and, dropped at 5, worker 2 again at 6.5.
    assert replay(Operations(computing, sending), needed=2) == [2.0, 3.5, 6.0]


def test_a_trace_without_a_whole_step_is_refused() -> None:
    trace = by_a_server(constant(1, 2)).trace
    assert trace is not None
    with pytest.raises(ValueError, match="0 whole steps"):
        begun_and_ready(trace)
