"""Wrong answers to exercise 13.2: schedules that people really write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from helpers.algorithms.pipeline.instructions import Backward, Forward


def returns_the_first(stage: int, stages: int, microbatches: int) -> Any:
    """`return` instead of `yield`."""
    for i in range(microbatches):
        return Forward(i)
    for i in reversed(range(microbatches)):
        return Backward(i)
    return None


def returns_nothing(stage: int, stages: int, microbatches: int) -> Any:
    """Makes the instructions and forgets them."""
    [Forward(i) for i in range(microbatches)]
    [Backward(i) for i in reversed(range(microbatches))]


def for_ever(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Step after step."""
    while True:
        yield from _gpipe(range(microbatches))


def yields_pairs(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Tuples of its own."""
    for i in range(microbatches):
        yield "forward", i
    for i in reversed(range(microbatches)):
        yield "backward", i


def yields_classes(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """The kinds without the numbers."""
    yield from [Forward] * microbatches
    yield from [Backward] * microbatches


def names_the_stage(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Takes the chunk for the stage."""
    for i in range(microbatches):
        yield Forward(i, stage + 1)
    for i in reversed(range(microbatches)):
        yield Backward(i, stage + 1)


def counts_from_1(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Microbatches 1 to m."""
    yield from _gpipe(range(1, microbatches + 1))


def forgets_the_last(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """One too few."""
    yield from _gpipe(range(microbatches - 1))


def back_on_the_last_alone(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Takes it that autograd goes through all stages by itself."""
    for i in range(microbatches):
        yield Forward(i)
    if stage == stages - 1:
        for i in reversed(range(microbatches)):
            yield Backward(i)


def one_at_a_time(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Forward and backward of each in turn."""
    for i in range(microbatches):
        yield Forward(i)
        yield Backward(i)


def one_forward_one_backward(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """The other schedule."""
    ahead = min(stages - stage, microbatches)
    for i in range(ahead):
        yield Forward(i)
    for i in range(microbatches):
        yield Backward(i)
        if i + ahead < microbatches:
            yield Forward(i + ahead)


def first_back_first(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Both ways in the same order."""
    for i in range(microbatches):
        yield Forward(i)
    for i in range(microbatches):
        yield Backward(i)


def backwards_there(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """Both ways turned round."""
    for i in reversed(range(microbatches)):
        yield Forward(i)
    for i in reversed(range(microbatches)):
        yield Backward(i)


def first_stage_waits(stage: int, stages: int, microbatches: int) -> Iterator[Any]:
    """The first stage sees each microbatch through before it starts the next one."""
    if stage or stages == 1:
        yield from _gpipe(range(microbatches))
    else:
        yield from one_at_a_time(stage, stages, microbatches)


def _gpipe(numbers: range) -> Iterator[Any]:
    for i in numbers:
        yield Forward(i)
    for i in reversed(numbers):
        yield Backward(i)
