"""The clock of actors and a learner, its staleness by formula and by count, and logs replayed."""

from __future__ import annotations

import heapq

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.lessons.actors.algorithms.rms_prop import shared_rms_prop
from helpers.lessons.actors.algorithms.staleness import mean_staleness
from helpers.lessons.actors.algorithms.v_trace import v_trace
from helpers.lessons.actors.experiments.actor_settings import TIC_TAC_TOE
from helpers.lessons.actors.experiments.stale_actors import replay, side_by_side, ways
from helpers.lessons.actors.experiments.stale_clock import arrivals, counted_staleness
from helpers.lessons.parameter_servers.experiments.step_times import Constant, Gamma
from helpers.lessons.parameter_servers.experiments.train import one_thread

SHORT = TIC_TAC_TOE._replace(games=2, steps=3)
MODES = st.sampled_from(["synchronous", "asynchronous", "wait"])


@settings(deadline=None, max_examples=25)
@given(MODES, st.integers(1, 7), st.integers(1, 3), st.integers(0, 5), st.integers(0, 50))
def test_every_log_is_sound(mode: str, actors: int, batch: int, queue: int, seed: int) -> None:
    if mode == "asynchronous":
        batch = min(batch, actors + queue)
    log = arrivals(
        80, actors, mode, times=Gamma(1.0, 0.5), learning=0.2, batch=batch, queue=queue, seed=seed,
        **({"bound": 2} if mode == "wait" else {}),
    )  # fmt: skip
    assert len(log) == 80
    # Updates follow one after the other, each of as many rollouts; only the last may be cut short.
    each = actors if mode == "synchronous" else batch
    assert [one.update for one in log] == [number // each for number in range(80)]
    assert [one.seconds for one in log] == sorted(one.seconds for one in log)
    assert all(one.staleness == one.update - one.version >= 0 for one in log)
    copies = {actor: [one.version for one in log if one.actor == actor] for actor in range(actors)}
    assert all(versions == sorted(versions) for versions in copies.values())
    if mode == "synchronous":
        assert all(one.staleness == 0 for one in log)
    if mode == "wait":
        assert all(one.staleness <= 2 for one in log)


@pytest.mark.parametrize(
    ("actors", "batch", "fetch_every", "spread"),
    [(1, 1, 1, 0.0), (9, 1, 1, 0.9), (5, 4, 1, 0.3), (6, 1, 4, 0.3), (8, 3, 2, 0.9)],
)
def test_the_mean_staleness_is_the_formula_s_whatever_takes_how_long(
    actors: int, batch: int, fetch_every: int, spread: float
) -> None:
    # Without a queue every rollout in flight is in the hands of an actor, one each, always.
    times, how = Gamma(1.0, spread), {"batch": batch, "fetch_every": fetch_every}
    log = arrivals(2500, actors, times=times, learning=0.1, **how)[500:]
    assert counted_staleness(log) == pytest.approx(mean_staleness(actors, **how), rel=0.05)


@pytest.mark.parametrize(("actors", "queue"), [(8, 0), (8, 4), (3, 7)])
def test_a_slow_learner_leaves_its_queue_full(actors: int, queue: int) -> None:
    log = arrivals(2000, actors, learning=1.0, queue=queue, times=Gamma(1.0, 0.3))[200:]
    assert counted_staleness(log) == pytest.approx(mean_staleness(actors, queue), rel=0.01)


def test_what_waits_is_as_old_as_it_may_be_and_needs_more_time() -> None:
    logs = {bound: arrivals(800, 8, "wait", bound=bound) for bound in (0, 3, 7)}
    for bound, log in logs.items():
        assert {one.staleness for one in log[100:]} == {bound}
    seconds = [log[-1].seconds for log in logs.values()]
    assert seconds == sorted(seconds, reverse=True)
    assert {one.actor for one in logs[0]} == set(range(8))  # all have their turns


def test_synchronous_actors_wait_for_the_slowest() -> None:
    log = arrivals(40, 4, "synchronous", times=Constant(2.0), learning=0.25)
    assert [one.actor for one in log[:8]] == [0, 1, 2, 3] * 2
    assert log[-1].seconds == pytest.approx(10 * (2.0 + 4 * 0.25))


@one_thread()
def by_a_clock_that_plays(rollouts: int, actors: int, learning: float, seed: int) -> torch.Tensor:
    """The asynchronous run written out: each plays at once, and nothing is looked up in a log."""
    task, setting = SHORT.task(), SHORT
    weights = task.initial()
    squares = torch.zeros_like(weights)
    times = [Gamma(1.0, 0.4).on_clock(actor, seed) for actor in range(actors)]
    count = [0] * actors
    events: list[tuple[float, int, int]] = []
    hands: dict[int, object] = {}
    line: list[int] = []
    busy, now, taken = None, 0.0, 0

    def begin(actor: int) -> None:
        hands[actor] = task.play(weights.clone(), actor, count[actor])
        count[actor] += 1
        heapq.heappush(events, (now + times[actor](now), 1, actor))

    for actor in range(actors):
        begin(actor)
    while taken < rollouts:
        now, kind, actor = heapq.heappop(events)
        if kind == 0:
            gradient = task.slope(weights, busy, v_trace)
            rate = setting.rate * (1 - taken / rollouts)
            shared_rms_prop(weights, squares, gradient, rate)
            busy, taken = None, taken + 1
        else:
            line.append(actor)
        if busy is None and line:
            free = line.pop(0)
            busy = hands.pop(free)
            heapq.heappush(events, (now + learning, 0, -1))
            begin(free)
    return weights


@pytest.mark.parametrize("learning", [0.05, 0.6])
def test_learning_by_a_log_is_what_a_clock_that_plays_gives_bit_for_bit(learning: float) -> None:
    log = arrivals(40, 3, times=Gamma(1.0, 0.4), learning=learning, seed=2)
    wanted = by_a_clock_that_plays(40, 3, learning, seed=2)
    assert torch.equal(replay(log, SHORT).weights, wanted)


def test_rollouts_side_by_side_are_one_of_all_games() -> None:
    task = SHORT._replace(longest=1e9).task()
    both = [task.play(task.initial(), actor, 0) for actor in range(2)]
    joined = side_by_side(both)
    assert joined.actions.shape == (3, 4)
    assert torch.equal(joined.rewards[:, 2:], both[1].rewards)
    slopes = [task.slope(task.initial(), one) for one in (*both, joined)]
    torch.testing.assert_close(slopes[2], (slopes[0] + slopes[1]) / 2)


def test_the_ways_of_the_figure_are_as_late_as_they_say() -> None:
    late = {way.label: counted_staleness(arrivals(200, 16, **way.options)) for way in ways()}
    assert late["synchronous (A2C)"] == 0
    assert late["asynchronous"] == late["asynchronous, V-trace"]
    assert late["asynchronous"] > late["at most 8 updates old"] > 0
