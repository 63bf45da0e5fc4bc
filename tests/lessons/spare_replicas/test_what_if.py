"""What if nobody were late: the replay against the clock, against itself, and by properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from what_if_settings import FromTable, Setting, constant, thirteen

import helpers
from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.parameter_servers.algorithms.update_rules import SpareReplicas
from helpers.lessons.spare_replicas.algorithms.blame import Blame, lasted
from helpers.lessons.spare_replicas.algorithms.what_if import (
    Operations,
    fix,
    operations,
    replay,
    seconds_of,
    usual,
    what_if,
)
from helpers.lessons.spare_replicas.experiments.traced_steps import NoGradients, begun_and_ready
from tests.lessons.spare_replicas.traced_spares import operations_of
from tests.selection import everyday

ALL = thirteen()
TOGETHER = everyday([pytest.param(s, id=s.name) for s in ALL if not s.spare], 2)
SPARED = [pytest.param(s, id=s.name) for s in ALL if s.spare]


def moments(setting: Setting, straggling: bool) -> tuple[torch.Tensor, torch.Tensor]:
    trace = setting.ring(straggling) if setting.floats else setting.server(straggling).trace
    assert trace is not None
    return begun_and_ready(trace)


@pytest.mark.parametrize("setting", TOGETHER)
def test_without_its_stragglers_a_run_takes_what_the_clock_says(setting: Setting) -> None:
    blame = Blame(*moments(setting, straggling=True), what_if)
    known = lasted(moments(setting, straggling=False)[0])
    assert abs(blame.error) < 1e-9
    assert blame.without(blame.stragglers()) == pytest.approx(known, rel=0.02)
    late = (setting.late > setting.usual).any(axis=0)
    assert set(np.flatnonzero(late)) >= set(blame.stragglers())
    assert setting.workers == 1 or blame.slowdown > 1.3


@pytest.mark.parametrize("setting", SPARED)
def test_of_n_of_n_and_b_too(setting: Setting) -> None:
    needed = setting.workers - setting.spare
    run, known = setting.server(straggling=True), setting.server(straggling=False)
    seen = operations_of(run)
    there_and_back = 2 * setting.latency  # the last push, and the first pull
    assert replay(seen, needed)[-1] == pytest.approx(run.seconds - there_and_back, rel=1e-9)
    late = np.flatnonzero((setting.late > setting.usual).any(axis=0)).tolist()
    found = replay(Operations(fix(seen.computing, late), seen.sending), needed)[-1]
    assert found == pytest.approx(known.seconds - there_and_back, rel=0.02)
    assert len(late) <= setting.spare or run.seconds > 1.3 * known.seconds


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_with_nobody_fixed_it_is_the_run_itself(engine: str, workers: int) -> None:
    given_ = {"times": FromTable(constant(6, workers, 0.01))} if engine == "virtual" else {}
    run = helpers.train(
        lambda weights: SpareReplicas(weights, Sgd(0.1), workers, workers),
        workers=workers,
        updates=6,
        task=NoGradients(),
        batch=1,
        engine=engine,
        trace=True,
        **given_,
    )
    assert run.trace is not None
    begun, ready = begun_and_ready(run.trace, first=1)
    assert (begun[1:] >= ready.max(dim=1, keepdim=True).values).all()
    for one, other in zip(what_if(begun, ready, []), (begun, ready), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


some = settings(max_examples=20, deadline=None)
TABLES = st.integers(1, 6).flatmap(
    lambda workers: st.lists(
        st.lists(st.floats(0.1, 9.0), min_size=2 * workers, max_size=2 * workers),
        min_size=1,
        max_size=8,
    )
)


def run_of(rows: list[list[float]]) -> tuple[torch.Tensor, torch.Tensor]:
    """A run by its operations: in each row what the workers computed, then what they sent."""
    begun, ready = [torch.zeros(len(rows[0]) // 2, dtype=torch.float64)], []
    for row in torch.tensor(rows, dtype=torch.float64):
        computing, sending = row.chunk(2)
        ready.append(begun[-1] + computing)
        begun.append(ready[-1].max() + sending)
    return torch.stack(begun), torch.stack(ready)


@given(TABLES)
@some
def test_operations_are_those_that_made_the_run(rows):
    both = torch.tensor(rows, dtype=torch.float64).chunk(2, dim=1)
    for found, made in zip(operations(*run_of(rows)), both, strict=True):
        torch.testing.assert_close(found, made, rtol=0, atol=1e-9)


@given(TABLES)
@some
def test_where_all_send_equally_long_nothing_gets_slower(rows):
    rows = [[*row[: len(row) // 2], *[row[-1]] * (len(row) // 2)] for row in rows]
    blame = Blame(*run_of(rows), what_if)
    assert blame.slowdown >= 1 - 1e-12
    for worker in blame.workers:
        assert 1 - 1e-12 <= blame.cost(worker) <= blame.slowdown + 1e-12


@given(TABLES)
@some
def test_a_replay_that_waits_for_all_is_the_other_one(rows):
    given_ = Operations(*torch.tensor(rows, dtype=torch.float64).chunk(2, dim=1))
    begun, ready = run_of(rows)
    made = replay(given_, needed=ready.shape[1])
    np.testing.assert_allclose(made, ready.max(dim=1).values)
    assert seconds_of(made, given_) == pytest.approx(lasted(begun))


def test_the_lower_of_two_is_usual_and_who_was_not_there_does_not_count() -> None:
    computing = torch.tensor([[1.0, 9.0, math.nan], [4.0, 2.0, 3.0]])
    assert usual(computing).tolist() == [[1.0], [3.0]]


def test_a_spare_worker_drops_out_and_joins_the_step_that_goes_on() -> None:
    computing = torch.tensor([[1.0, 2.0, 5.0], [1.0, 1.0, math.nan], [1.0, 2.0, 1.0]])
    sending = torch.full((3, 3), 0.5)
    # Updates at 2, at 2 + 0.5 + 1, then worker 0 at 5 and, dropped at 5, worker 2 again at 6.5.
    assert replay(Operations(computing, sending), needed=2) == [2.0, 3.5, 6.0]


def test_a_trace_without_a_whole_step_is_refused() -> None:
    setting = Setting("short", constant(1, 2), constant(1, 2))
    trace = setting.server(straggling=False).trace
    assert trace is not None
    with pytest.raises(ValueError, match="0 whole steps"):
        begun_and_ready(trace)
