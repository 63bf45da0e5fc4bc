"""The reference of exercise 13.3, and schedules with one thing wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from helpers.algorithms.pipeline.instructions import Backward, Forward


def reference(stage: int, stages: int, microbatches: int) -> Any:
    """The course's own."""
    from helpers.algorithms.pipeline.schedules import one_forward_one_backward

    return one_forward_one_backward(stage, stages, microbatches)


def _pairs(ahead: int, microbatches: int, last: Sequence[int] | None = None) -> Iterator[Any]:
    """Some forwards, then pairs, then the rest of the way back, in the order `last`."""
    for i in range(ahead):
        yield Forward(i)
    for i in range(microbatches - ahead):
        yield Forward(i + ahead)
        yield Backward(i)
    for i in range(microbatches - ahead, microbatches) if last is None else last:
        yield Backward(i)


def gpipe(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """The schedule of the exercise before."""
    for i in range(microbatches):
        yield Forward(i)
    for i in reversed(range(microbatches)):
        yield Backward(i)


def one_at_a_time(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Takes the name at its word."""
    yield from _pairs(0, microbatches)


def one_too_many(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """p − s forwards ahead, and then a pair starts with one more."""
    yield from _pairs(min(stages - stage, microbatches), microbatches)


def as_many_everywhere(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Fills the pipeline on every stage, as the first one does."""
    yield from _pairs(min(stages - 1, microbatches), microbatches)


def one_too_few(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """p − s − 2 forwards ahead."""
    yield from _pairs(max(0, min(stages - stage - 2, microbatches)), microbatches)


def wrong_end(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Goes ahead where it should not: stage forwards instead of p − s − 1."""
    yield from _pairs(min(stage, microbatches), microbatches)


def no_cool_down(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Stops when there is nothing to go forward with any more."""
    yield from _pairs(min(stages - stage - 1, microbatches), microbatches, last=[])


def more_than_there_are(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Fills the pipeline, whether there is enough to fill it with or not."""
    ahead = stages - stage - 1
    for i in range(ahead):
        yield Forward(i)
    for i in range(microbatches):
        if i + ahead < microbatches:
            yield Forward(i + ahead)
        yield Backward(i)


def backward_first(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Each pair the other way round."""
    ahead = min(stages - stage - 1, microbatches)
    for i in range(ahead):
        yield Forward(i)
    for i in range(microbatches):
        yield Backward(i)
        if i + ahead < microbatches:
            yield Forward(i + ahead)


def last_back_first(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """The rest of the way back is turned round, as in GPipe."""
    ahead = min(stages - stage - 1, microbatches)
    rest = range(microbatches - ahead, microbatches)
    yield from _pairs(ahead, microbatches, last=rest[::-1])


def same_number(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Goes forward and back with the same number in a pair, and so leaves some out."""
    ahead = min(stages - stage - 1, microbatches)
    for i in range(ahead):
        yield Forward(i)
    for i in range(microbatches - ahead):
        yield Forward(i)
        yield Backward(i)
    for i in range(microbatches - ahead, microbatches):
        yield Backward(i)
