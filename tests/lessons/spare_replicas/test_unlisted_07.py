"""Wrong answers to lesson 07 that nobody's table lists, and what they are told."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from helpers.engine.servers.rule import Decision, mean
from helpers.lessons.spare_replicas.algorithms.blame import Blame
from helpers.lessons.spare_replicas.algorithms.what_if import what_if
from helpers.lessons.spare_replicas.exercises import accumulator, chief, choose, kth, spare
from tests.checks.table import is_told
from tests.lessons.spare_replicas.right_answers_07 import what_if_by_lists


def sorted_as_texts(times: Any, k: int) -> float:
    return sum(float(sorted(map(str, row))[k - 1]) for row in times.tolist()) / len(times)


def the_least_step(times: Any, k: int) -> float:
    return float(times.sort(dim=1).values[:, k - 1].min())


def of_the_first_five(times: Any, k: int) -> float:
    return kth.reference(times[:, :5], min(k, times.shape[1], 5))


def to_milliseconds(times: Any, k: int) -> float:
    return kth.reference(times.mul(1000).round() / 1000, k)


def at_most_half_spare(times: Any, iterations: dict[int, float]) -> Any:
    workers = times.shape[1]
    return choose.reference(times, {n: i for n, i in iterations.items() if 2 * n >= workers})


def whole_updates(times: Any, iterations: dict[int, float]) -> Any:
    return choose.reference(times, {n: int(each) for n, each in iterations.items()})


class Doubled(spare.Spare):
    def apply(self, gradient: Any) -> None:
        super().apply(2 * gradient)


class FirstFour(spare.Spare):
    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        held = [each for each, _ in self.held] + [gradient]
        self.four = mean(held[:4])
        return super().arrive(worker, gradient, version)

    def apply(self, gradient: Any) -> None:
        super().apply(self.four)


class OneMore(spare.Spare):
    def __init__(self, weights: Any, optimizer: Any, workers: Any, aggregate: int) -> None:
        super().__init__(weights, optimizer, workers, aggregate + 1)


class Generator(spare.Spare):
    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        made = super().arrive(worker, gradient, version)
        release: Any = (each for each in made.release)
        return Decision(release, made.applied, made.dropped)


class OneAhead(accumulator.Plain):
    def apply_grad(self, gradient: Any, local_step: int) -> bool:
        return local_step <= self.global_step + 1 and super().apply_grad(gradient, local_step)


class SomeKinds(accumulator.Plain):
    """Counts only what `counts` holds for."""

    def counts(self, gradient: Any) -> bool:
        return bool(gradient.any())

    def apply_grad(self, gradient: Any, local_step: int) -> bool:
        return self.counts(gradient) and super().apply_grad(gradient, local_step)


class FiniteAlone(SomeKinds):
    def counts(self, gradient: Any) -> bool:
        return bool(gradient.isfinite().all())


class InDouble(accumulator.Plain):
    def apply_grad(self, gradient: Any, local_step: int) -> bool:
        return super().apply_grad(gradient.double(), local_step)


class FirstRequired(accumulator.Plain):
    need = 0

    def take_grad(self, required: int) -> Any:
        self.need = self.need or required
        return super().take_grad(self.need)


class OneIsItsOwnMean(accumulator.Plain):
    def apply_grad(self, gradient: Any, local_step: int) -> bool:
        self.one = gradient
        return super().apply_grad(gradient, local_step)

    def take_grad(self, required: int) -> Any:
        alone, made = self.count == 1, super().take_grad(required)
        return self.one if alone and made is not None else made


class OneLess(accumulator.Plain):
    def take_grad(self, required: int) -> Any:
        some, made = self.count, super().take_grad(required)
        return made if made is None else made * some / max(some - 1, 1)


class WithTheirNumber(accumulator.Plain):
    def take_grad(self, required: int) -> Any:
        some, made = self.count, super().take_grad(required)
        return made if made is None else (made, some)


class TwiceTheRate(chief.Chief):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.rate *= 2


class AsksForOneMore(chief.Chief):
    def turn(self) -> bool:
        self.aggregate += 1
        made = super().turn()
        self.aggregate -= 1
        return made


class ClearsAtTheStart(chief.Chief):
    def start(self, num_tokens: int) -> None:
        self.queue.clear()
        super().start(num_tokens)


class Other(chief.Chief):
    """Its tokens are something else."""

    kind: Any = torch.tensor

    def turn(self) -> bool:
        queue, self.queue = self.queue, []
        made = super().turn()
        queue.extend(map(type(self).kind, self.queue))
        self.queue = queue
        return made


class Texts(Other):
    kind = str


def as_many_of_the_slowest(begun: Any, ready: Any, fixed: list[int]) -> Any:
    slowest = (ready - begun[:-1]).mean(dim=0).argsort(descending=True)
    return what_if(begun, ready, slowest[: len(fixed)].tolist())


@pytest.mark.parametrize(
    ("number", "answer", "says"),
    [
        ("07.1", sorted_as_texts, "the mean time is"),
        ("07.1", the_least_step, "the mean time is"),
        ("07.1", of_the_first_five, "the mean time is"),
        ("07.1", to_milliseconds, "the mean time is"),
        ("07.2", at_most_half_spare, "With 5 workers and N in 1, 2, 4 and 5"),
        ("07.2", whole_updates, "b = 4 is right"),
        ("07.3", Doubled, "not what they should be"),
        ("07.3", FirstFour, "With N=5 of 8"),
        ("07.3", OneMore, "in the update are none"),
        ("07.3", Generator, "`release` is a generator"),
        ("07.4", OneAhead, "a gradient of local step"),
        ("07.4", SomeKinds, "it gave False instead of True"),
        ("07.4", FiniteAlone, "it gave False instead of True"),
        ("07.4", InDouble, "a mean of float64"),
        ("07.4", FirstRequired, "gave None, though with 1"),
        ("07.4", OneIsItsOwnMean, "changed later"),
        ("07.4", OneLess, "instead of ["),
        ("07.4", WithTheirNumber, ", 3) instead of ["),
        ("07.5", TwiceTheRate, "`weights` is"),
        ("07.5", AsksForOneMore, "was asked for 4; ask once a turn, for 3"),
        ("07.5", ClearsAtTheStart, "lay in the queue before is gone"),
        ("07.5", Other, "is a tensor where steps are counted"),
        ("07.5", Texts, "5 texts '1'"),
        ("07.6", as_many_of_the_slowest, "worker 3 fixed"),
    ],
)
def test_it_is_wrong_and_told_what_was_seen(number: str, answer: Any, says: str) -> None:
    is_told(number, answer, says)


def test_blame_takes_a_replay_that_gives_lists() -> None:
    begun = torch.tensor([[0.0, 0.0, 0.0], [5.0, 5.0, 6.0]])
    ready = torch.tensor([[1.0, 2.0, 4.0]])
    assert Blame(begun, ready, what_if_by_lists).ideal == Blame(begun, ready, what_if).ideal
