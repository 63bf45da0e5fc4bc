"""Schedules of a pipeline: what each stage does with each microbatch, in which order.

A schedule is a generator of instructions, `Forward` and `Backward`, for one stage. It sends nothing
and computes nothing, so it can be drawn, tested and timed without a process; `pipeline.Pipeline`
carries it out.
Write p for the number of stages (one on each rank) and m for the number of microbatches.

Sources: Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline
Parallelism" (2019), section 2.3; Narayanan et al., "PipeDream" (2019), section 3.2, for one forward
one backward; Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
Megatron-LM" (2021), section 2.2, for that with a flush, and for the interleaved schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from helpers.lessons.pipelines.algorithms.instructions import (
    Backward,
    BackwardInput,
    BackwardWeights,
    Forward,
    Instruction,
    check_stage,
)
from helpers.lessons.pipelines.algorithms.timetable import Place, in_turn, timetable

Schedule = Callable[[int, int, int], Iterable[Instruction]]
"""A schedule: (stage, stages, microbatches) to the instructions of that stage."""


def naive(stage: int, stages: int, microbatches: int) -> Iterator[Instruction]:
    """One microbatch at a time: its backward follows its forward, and all other stages wait.

    This is a model cut by layers without a pipeline; one stage in p works at any time.
    Raises ValueError where there is no such stage, or no microbatch.
    """
    check_stage(stage, stages, microbatches)
    for microbatch in range(microbatches):
        yield Forward(microbatch)
        yield Backward(microbatch)


def gpipe(stage: int, stages: int, microbatches: int) -> Iterator[Instruction]:
    """All microbatches forward, then all backward, the last one first.

    Every stage holds the activations of all m microbatches before its first backward.
    Huang et al. (2019), figure 2(c). Raises ValueError as `naive` does.
    Example: on 2 microbatches F0 F1 B1 B0, on every stage.
    """
    check_stage(stage, stages, microbatches)
    yield from map(Forward, range(microbatches))
    yield from map(Backward, reversed(range(microbatches)))


def one_forward_one_backward(stage: int, stages: int, microbatches: int) -> Iterator[Instruction]:
    """Forward until the pipeline is full, then one forward and one backward in turn, then drain.

    Stage s starts with p − 1 − s forwards, so it never holds more than p − s microbatches, however
    many there are; the time is that of `gpipe`. Narayanan et al. (2021), figure 4, top.
    Raises ValueError as `naive` does.
    Example: stage 0 of 2 with 3 microbatches does F0 F1 B0 F2 B1 B2.
    """
    check_stage(stage, stages, microbatches)
    ahead = min(stages - 1 - stage, microbatches)
    yield from map(Forward, range(ahead))
    for microbatch in range(ahead, microbatches):
        yield Forward(microbatch)
        yield Backward(microbatch - ahead)
    yield from map(Backward, range(microbatches - ahead, microbatches))


def interleaved(rank: int, ranks: int, microbatches: int, chunks: int = 2) -> Iterator[Instruction]:
    """One forward one backward, with several chunks of layers on every rank.

    Chunk c of rank r is stage c · ranks + r of the model, so a microbatch goes round the ranks
    `chunks` times. A chunk is quicker than a whole stage, so the pipeline fills in 1/chunks of the
    time; in return it sends `chunks` times as much. Microbatches go in groups of as many as there
    are ranks: a group through all chunks, then the next. Narayanan et al. (2021), figure 4, bottom.
    Raises ValueError as `naive` does, for chunks below 1, and where the number of ranks does not
    divide that of the microbatches.
    """
    check_stage(rank, ranks, microbatches)
    if chunks < 1:
        raise ValueError(f"A rank cannot hold {chunks} chunks: give 1 or more.")
    if microbatches % ranks:
        raise ValueError(
            f"The interleaved schedule takes microbatches in groups of {ranks}, one for each rank: "
            f"{microbatches} is no multiple of {ranks}. Cut the batch into one."
        )

    def nth(number: int) -> tuple[int, int]:
        """Microbatch and chunk of the rank's n-th forward."""
        group, place = divmod(number, ranks * chunks)
        chunk, microbatch = divmod(place, ranks)
        return group * ranks + microbatch, chunk

    total = microbatches * chunks
    ahead = min(2 * (ranks - 1 - rank) + (chunks - 1) * ranks, total)
    for number in range(total + ahead):
        if number < total:
            yield Forward(*nth(number))
        if number >= ahead:
            microbatch, chunk = nth(number - ahead)
            yield Backward(microbatch, chunks - 1 - chunk)


def bubble(
    stages: int,
    microbatches: int,
    forward: float = 1.0,
    backward: float = 2.0,
    chunks: int = 1,
) -> float:
    """The share of a step that every rank is idle: (p − 1)/(c·m + p − 1).

    For `gpipe` and `one_forward_one_backward`, and with c chunks a rank for `interleaved`.
    forward, backward: seconds of a microbatch in a stage, the same in all of them. They cancel out,
    as (p − 1)(f + b) of (c·m + p − 1)(f + b), as long as messages take no time.
    Huang et al. (2019), section 2.3; Narayanan et al. (2021), section 2.2.
    Raises ValueError for less than one stage, microbatch or chunk, and where a microbatch takes no
    time.
    Example: bubble(4, 8) is 3/11.
    """
    if min(stages, microbatches, chunks) < 1:
        raise ValueError("A pipeline has at least one stage, one microbatch and one chunk a rank.")
    if min(forward, backward) < 0 or not forward + backward > 0:
        raise ValueError(f"A microbatch takes time, not {forward} s forward and {backward} s back.")
    return (stages - 1) / (chunks * microbatches + stages - 1)


def live_activations(instructions: Iterable[Instruction]) -> int:
    """The most forwards whose backward is still to come: the activations held at once.

    instructions: of one stage. With several chunks, each forward of a chunk counts as one. Where
    backward is cut in two, its second half frees them.
    """
    held = most = 0
    for instruction in instructions:
        if isinstance(instruction, Forward):
            held += 1
        elif not isinstance(instruction, BackwardInput):
            held -= 1
        most = max(most, held)
    return most


def orders(schedule: Schedule, stages: int, microbatches: int) -> list[list[Instruction]]:
    """The instructions of every stage, in rank order."""
    return [list(schedule(stage, stages, microbatches)) for stage in range(stages)]


def validate(
    streams: Sequence[Sequence[Instruction]],
    microbatches: int,
    chunks: int = 1,
    place: Place = in_turn,
) -> None:
    """Raise ValueError with a sentence where a schedule cannot be carried out, or is not complete.

    streams: the instructions of every rank, as from `orders`. Every rank does each microbatch of
    each chunk forward once and then backward once, in one piece or in two, and no rank waits for
    what never comes. place: as for `timetable`.
    """
    wanted = [(m, c) for c in range(chunks) for m in range(microbatches)]
    for rank, stream in enumerate(streams):
        whole = [(i.microbatch, i.chunk) for i in stream if isinstance(i, Backward)]
        for kind in (Forward, BackwardInput, BackwardWeights):
            done = [(i.microbatch, i.chunk) for i in stream if isinstance(i, kind)]
            if sorted([*done, *(whole if kind is not Forward else ())]) != sorted(wanted):
                name = "Forward" if kind is Forward else "Backward"
                there = len(done) if kind is Forward else len(whole) + len(done)
                raise ValueError(
                    f"Rank {rank}'s schedule has {there} {name} instructions, but needs one for "
                    f"each of {microbatches} microbatches and {chunks} chunks."
                )
    timetable(streams, place=place)
