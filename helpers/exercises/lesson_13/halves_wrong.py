"""Schedules with backward in two halves that have one thing wrong (13.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from helpers.algorithms.pipeline.instructions import (
    Backward,
    BackwardInput,
    BackwardWeights,
    Forward,
)

Numbers = Callable[[int, int, int], int]  # of stage, stages and times


def _order(
    ahead: Numbers = lambda s, p, times: times * (p - 1 - s),
    late: Numbers = lambda s, p, times: times * s,
) -> Callable[[int, int, int, int], list[Any]]:
    """ahead: forwards before the first pair. late: microbatches by which W is put off."""

    def zero_bubble(stage: int, stages: int, microbatches: int, times: int = 1) -> list[Any]:
        m = microbatches
        first = max(0, min(ahead(stage, stages, times), m))
        puts_off = late(stage, stages, times)
        made: list[Any] = [Forward(i) for i in range(first)]
        done = 0
        for i in range(m):
            made += [Forward(i + first)] * (i + first < m) + [BackwardInput(i)]
            if i >= puts_off:
                made.append(BackwardWeights(done))
                done += 1
        return made + [BackwardWeights(i) for i in range(done, m)]

    return zero_bubble


at_once = _order(late=lambda s, p, times: 0)
all_at_the_end = _order(late=lambda s, p, times: 10**6)
as_late_everywhere = _order(late=lambda s, p, times: times * (p - 1))
wrong_end = _order(late=lambda s, p, times: times * (p - 1 - s))
one_later = _order(late=lambda s, p, times: times * s + 1)
one_sooner = _order(late=lambda s, p, times: max(0, times * s - 1))
once = _order(ahead=lambda s, p, times: p - 1 - s, late=lambda s, p, times: s)
ahead_alone = _order(late=lambda s, p, times: s)
late_alone = _order(ahead=lambda s, p, times: p - 1 - s)
one_too_many = _order(ahead=lambda s, p, times: times * (p - 1 - s) + 1)
most_at_the_end = _order(ahead=lambda s, p, times: times * s)
too_few = _order(ahead=lambda s, p, times: 0)
no_difference = _order(ahead=lambda s, p, times: times * (p - 1))


def in_one_piece(stage: int, stages: int, microbatches: int, times: int = 1) -> list[Any]:
    made: list[Any] = []
    for each in _order()(stage, stages, microbatches, times):
        if isinstance(each, BackwardInput):
            each = Backward(each.microbatch)
        made += [] if isinstance(each, BackwardWeights) else [each]
    return made


def forgets_the_rest(stage: int, stages: int, microbatches: int, times: int = 1) -> list[Any]:
    made = _order()(stage, stages, microbatches, times)
    last = max(at for at, each in enumerate(made) if isinstance(each, BackwardInput))
    return made[: last + 2]


def weights_first(stage: int, stages: int, microbatches: int, times: int = 1) -> list[Any]:
    swap: dict[type, Any] = {BackwardInput: BackwardWeights, BackwardWeights: BackwardInput}
    made = _order()(stage, stages, microbatches, times)
    return [swap.get(type(each), type(each))(each.microbatch) for each in made]


def for_ever(stage: int, stages: int, microbatches: int, times: int = 1) -> Iterator[Any]:
    yield from _order()(stage, stages, microbatches, times)
    while True:
        yield BackwardWeights(0)


def returns_nothing(stage: int, stages: int, microbatches: int, times: int = 1) -> None:
    return None
