"""The clock of actors and a learner, its staleness by formula and by count, and logs replayed."""

from __future__ import annotations

import heapq
import json

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
EVERY = {
    "synchronous": {},
    "asynchronous": {},
    "wait": {"bound": 2},
}
MODES = st.sampled_from(sorted(EVERY))


@settings(deadline=None, max_examples=25)
@given(MODES, st.integers(1, 7), st.integers(1, 3), st.integers(0, 5), st.integers(0, 50))
def test_every_log_is_sound(mode: str, actors: int, batch: int, queue: int, seed: int) -> None:
    if mode == "asynchronous":
        batch = min(batch, actors + queue)
    log = arrivals(
        80, actors, mode, times=Gamma(1.0, 0.5), learning=0.2, batch=batch, queue=queue, seed=seed,
        **EVERY[mode],
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


@settings(deadline=None, max_examples=6)
@given(
    st.integers(1, 9),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from((0.0, 0.3, 0.9)),
    st.integers(0, 9),
)
def test_the_mean_staleness_is_the_formula_s_whatever_takes_how_long(
    actors: int, batch: int, fetch_every: int, spread: float, seed: int
) -> None:
    # Without a queue every rollout in flight is in the hands of an actor, one each, always.
    batch = min(batch, actors)
    log = arrivals(
        2500, actors, times=Gamma(1.0, spread), learning=0.1, batch=batch, fetch_every=fetch_every,
        seed=seed,
    )[500:]  # fmt: skip
    wanted = mean_staleness(actors, batch=batch, fetch_every=fetch_every)
    assert counted_staleness(log) == pytest.approx(wanted, rel=0.05)


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


@pytest.mark.parametrize(("mode", "actors"), [("synchronous", 3), ("asynchronous", 5), ("wait", 1)])
def test_a_log_that_was_kept_gives_the_same_weights(mode: str, actors: int) -> None:
    log = arrivals(20, actors, mode, times=Gamma(1.0, 0.4), seed=1, **EVERY[mode])
    first = replay(log, SHORT, look=5)
    kept = json.loads(json.dumps(log))
    again = replay(kept, SHORT, look=5)
    assert torch.equal(first.weights, again.weights)
    assert [one.steps for one in first.looks][-1] == 20 * SHORT.steps_per_update
    for one, other in zip(first.looks, again.looks, strict=True):
        assert one[:2] == other[:2]
        assert torch.equal(one.weights, other.weights)
    # Not because nothing matters: another seed, or no correction, gives others.
    assert not torch.equal(first.weights, replay(log, SHORT, seed=1).weights)


def test_the_order_decides_the_weights() -> None:
    log = arrivals(12, 3)
    other = [log[1]._replace(update=0), log[0]._replace(update=1), *log[2:]]
    assert log[0].actor != log[1].actor
    assert not torch.equal(replay(log, SHORT).weights, replay(other, SHORT).weights)


def test_a_correction_matters_where_copies_are_old_and_not_where_they_are_new() -> None:
    fresh = arrivals(12, 3, "synchronous")
    torch.testing.assert_close(
        replay(fresh, SHORT).weights, replay(fresh, SHORT, correct=None).weights,
        rtol=1e-3, atol=1e-4,
    )  # fmt: skip
    stale = arrivals(60, 3, fetch_every=8)
    apart = replay(stale, SHORT).weights - replay(stale, SHORT, correct=None).weights
    assert float(apart.abs().max()) > 1e-3


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
