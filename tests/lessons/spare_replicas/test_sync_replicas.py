"""The rebuilt SyncReplicasOptimizer against TensorFlow's, move by move; and by itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_sync_replicas import RealSyncReplicas, same

from helpers.lessons.parameter_servers.algorithms.server_optimizers import Sgd
from helpers.lessons.spare_replicas.algorithms.accumulators import (
    ConditionalAccumulator,
    TokenQueue,
)
from helpers.lessons.spare_replicas.algorithms.sync_replicas import SyncReplicas, tokens_at_start
from tests.selection import everyday

SHAPES = ((4,), (2, 3), ())


def ours_state(sync: SyncReplicas) -> dict[str, Any]:
    return {
        "weights": list(sync.pull()),
        "counts": [accumulator.count for accumulator in sync.accumulators],
        "tokens": len(sync.queue),
        "step": sync.global_step,
        "local": [step for _, step in sorted(sync.local_steps.items())],
    }


class Both:
    """The two optimizers side by side: every move is made by both, and compared."""

    def __init__(self, seed: int) -> None:
        self.random, self.numbers = random.Random(seed), np.random.default_rng(seed)
        total = self.random.choice([1, 2, 3, 5])
        aggregate = self.random.randint(1, total + 1)  # spare ones, none, or too few workers
        self.dtype = self.random.choice([np.float32, np.float64])
        shapes = SHAPES[: self.random.randint(1, 3)]
        weights = [np.asarray(self.numbers.normal(size=s), self.dtype) for s in shapes]
        tokens = [-1, 0 if aggregate <= total else 1][seed % 2]
        step = self.random.choice([0, 0, 7])
        given_total = None if aggregate == total and seed % 4 < 2 else total
        # A power of two: TensorFlow keeps its learning rate in float32, and where a machine
        # multiplies and adds in one go, nothing is rounded less.
        rate = 0.125
        self.real = RealSyncReplicas(weights, rate, aggregate, given_total, tokens, step)
        self.ours = SyncReplicas(weights, lambda: Sgd(rate), aggregate, given_total, tokens, step)
        self.total = total
        self.chief_waits = False
        self.todo: dict[int, dict[int, np.ndarray]] = {w: {} for w in range(total)}
        self.seen = {"dropped": 0, "half": 0, "updates": 0, "more": 0, "restarts": 0, "waits": 0}

    def gradients(self) -> dict[int, np.ndarray]:
        """Pull from both, which must be equal, and compute something that depends on it."""
        pulled = self.real.pull()
        assert all(
            a.tobytes() == b.tobytes() for a, b in zip(pulled, self.ours.pull(), strict=True)
        )
        pull = self.dtype(self.numbers.normal())
        noise = [np.asarray(self.numbers.normal(size=w.shape), self.dtype) for w in pulled]
        return {n: np.asarray(w * pull + noise[n]) for n, w in enumerate(pulled)}

    def worker_moves(self, worker: int) -> None:
        todo = self.todo[worker]
        if self.ours.waits(worker):
            if len(self.ours.queue):
                assert self.real.take_token(worker) == self.ours.take_token(worker)
            else:
                self.seen["waits"] += 1
                assert self.ours.take_token(worker) is None
                if self.random.random() < 0.1:  # it is restarted while it waits
                    self.seen["restarts"] += 1
                    self.real.join(worker)
                    self.ours.join(worker)
        elif not todo:
            self.todo[worker] = self.gradients()
        elif len(todo) == len(self.ours.weights) and len(self.ours.queue) and not self.chief_waits:
            gradients = [todo.pop(n) for n in sorted(todo)]
            token = self.real.push_and_take(worker, gradients)
            counted = self.ours.push(worker, gradients)
            self.seen["dropped"] += counted.count(False)
            assert self.ours.take_token(worker) == token
        else:
            variable = self.random.choice(sorted(todo))
            gradient = todo.pop(variable)
            self.real.push_one(worker, variable, gradient)
            self.seen["dropped"] += not self.ours.push_one(worker, variable, gradient)

    def chief_moves(self) -> None:
        """The chief begins a step, whether or not the gradients are there."""
        if not self.chief_waits:
            needed = self.ours.replicas_to_aggregate
            self.seen["more"] += any(a.count > needed for a in self.ours.accumulators)
            self.real.chief_starts()
            self.chief_waits = True

    def chief_goes_on(self) -> None:
        """A waiting chief takes what it can at once."""
        if self.chief_waits and self.ours.chief_turn():
            self.real.chief_ends()
            self.chief_waits = False
            self.seen["updates"] += 1
        elif self.chief_waits and len({a.global_step for a in self.ours.accumulators}) > 1:
            self.seen["half"] += 1

    def play(self, moves: int) -> dict[str, int]:
        for _ in range(moves):
            if self.random.random() < 0.15:
                self.chief_moves()
            else:
                self.worker_moves(self.random.randrange(self.total))
            self.chief_goes_on()
            wanted = ours_state(self.ours)
            got = self.real.settled(wanted)
            assert same(got, wanted), (got, wanted)
        assert self.real.drain() == list(self.ours.queue.tokens())
        return self.seen


@pytest.mark.tensorflow
@pytest.mark.parametrize("first", everyday(range(0, 40, 10), 4))
def test_any_order_of_moves_gives_what_tensorflow_gives(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    pytest.importorskip(
        "tensorflow", reason="TensorFlow is not installed; ./course doctor says why"
    )
    seen = dict.fromkeys(("dropped", "half", "updates", "more", "restarts", "waits"), 0)
    for seed in range(first, first + 10):
        both = Both(seed)
        try:
            for key, number in both.play(120).items():
                seen[key] += number
        finally:
            both.real.close()
    # The schedules reach what the test is for: drops, a step that is half done, more than R.
    assert all(seen.values()), seen


# --- by itself -------------------------------------------------------------------------------


def machine(aggregate: int, total: int | None = None, **options: Any) -> SyncReplicas:
    return SyncReplicas([np.zeros(2)], lambda: Sgd(1.0), aggregate, total, **options)


ONE = [np.ones(2)]


@given(
    total=st.integers(1, 5),
    spare=st.integers(0, 4),
    num_tokens=st.sampled_from([-1, 0]),
    moves=st.lists(st.integers(0, 9), max_size=150),
)
@settings(max_examples=40, deadline=None)
def test_no_gradient_counts_twice_and_none_is_older_than_its_step(
    total: int, spare: int, num_tokens: int, moves: list[int]
) -> None:
    aggregate = max(1, total - spare)
    sync = machine(aggregate, total, num_tokens=num_tokens)
    counted, taken, start = 0, 0, len(sync.queue)
    for move in moves:
        worker = move % total
        if move == 9:
            held = sync.accumulators[0].count
            if sync.chief_turn():
                assert held >= aggregate
                taken += held
        elif sync.waits(worker):
            sync.take_token(worker)
        else:
            local, step = sync.local_steps[worker], sync.global_step
            assert sync.push(worker, ONE)[0] == (local == step)
            counted += local == step
    # Every gradient that counted is in an update or still in the accumulator, once.
    assert counted == taken + sync.accumulators[0].count
    # With a gradient of one everywhere, each update moves the weights by one.
    assert sync.pull()[0].tolist() == [-float(sync.global_step)] * 2
    assert start == (aggregate if num_tokens else 0)


def twice() -> None:
    sync = machine(2)
    sync.push(0, ONE)
    sync.push(0, ONE)


def another_shape() -> None:
    accumulator = ConditionalAccumulator()
    accumulator.apply_grad(np.ones(2), 0)
    accumulator.apply_grad(np.ones(3), 0)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: machine(2).push(7, ONE), "has not joined"),
        (lambda: machine(2).push(0, []), "push one for each"),
        (lambda: machine(2).push(0, [np.ones(3)]), "must be the same"),
        (lambda: machine(2).take_token(0), "has not pushed a gradient to every variable"),
        (twice, "takes a token before"),
        (lambda: tokens_at_start(3, 2, 0), "needs at least 1"),
        (lambda: machine(0), "1 gradient or more"),
        (lambda: SyncReplicas([], lambda: Sgd(1.0), 1), "nothing to train"),
        (lambda: ConditionalAccumulator().take_grad(0), "1 gradient or more"),
        (lambda: TokenQueue().enqueue_many(0, -1), "0 or more"),
        (another_shape, "serves one variable"),
    ],
)
def test_wrong_calls_say_what_to_do(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()


def test_a_push_that_is_refused_leaves_nothing_behind() -> None:
    sync = SyncReplicas([np.zeros(2), np.zeros(3)], lambda: Sgd(0.1), 1, 2, num_tokens=0)
    with pytest.raises(ValueError, match="Variable 1 has shape"):
        sync.push(0, [np.ones(2), np.ones(2)])
    assert sync.push(0, [np.ones(2), np.ones(3)]) == (True, True)
