"""When each instruction of a pipeline runs, worked out without ranks.

A rank carries out its instructions in order, each as soon as the one before it is done and what it
needs has come. That is all there is to a schedule's time; `Pipeline` on the virtual clock gives the
same times, with real tensors in the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from helpers.algorithms.pipeline.instructions import Backward, Forward, Instruction


class Span(NamedTuple):
    """An instruction with the seconds at which its computing began and ended."""

    instruction: Instruction
    start: float
    end: float


Done = dict[tuple[type, int, int], float]  # (Forward or Backward, microbatch, stage): when


def timetable(
    streams: Sequence[Sequence[Instruction]],
    seconds: Callable[[int, Instruction], float] | None = None,
    message: float = 0.0,
) -> list[list[Span]]:
    """When each rank does what, with all stages starting at 0.

    streams: the instructions of every rank, in rank order. Chunk c of rank r of p is stage c·p + r
    of the model; what a stage computes goes to the next, and gradients go back.
    seconds: (rank, instruction) to how long it takes; by default 1 forward and 2 backward.
    message: seconds that a message takes between two ranks, beside the computing of both.
    Raises ValueError where the ranks end up waiting for each other, and says for what.
    """
    size = len(streams)
    last = size * (1 + max((i.chunk for stream in streams for i in stream), default=0)) - 1
    cost = _one_and_two if seconds is None else seconds
    table: list[list[Span]] = [[] for _ in streams]
    free = [0.0] * size
    done: Done = {}
    moved = True
    while moved:
        moved = False
        for rank, stream in enumerate(streams):
            while len(table[rank]) < len(stream):
                instruction = stream[len(table[rank])]
                ready = _ready(instruction, rank, size, last, done, message)
                if ready is None:
                    break
                start = max(free[rank], ready)
                free[rank] = start + cost(rank, instruction)
                table[rank].append(Span(instruction, start, free[rank]))
                stage = instruction.chunk * size + rank
                done[type(instruction), instruction.microbatch, stage] = free[rank]
                moved = True
    _check_finished(streams, table)
    return table


def makespan(table: Sequence[Sequence[Span]]) -> float:
    """Seconds from the first start to the last end."""
    spans = [span for row in table for span in row]
    return max(s.end for s in spans) - min(s.start for s in spans)


def idle_share(table: Sequence[Sequence[Span]]) -> float:
    """The share of all ranks' time in which they do not compute: the measured bubble.

    table: a row for each rank, from `timetable` or from the ranks' own `Pipeline.spans`.
    """
    busy = sum(span.end - span.start for row in table for span in row)
    return 1 - busy / (len(table) * makespan(table))


def _ready(
    instruction: Instruction, rank: int, size: int, last: int, done: Done, message: float
) -> float | None:
    """When what an instruction needs has come; None where that is not known yet."""
    number, stage = instruction.microbatch, instruction.chunk * size + rank
    travels = message if size > 1 else 0.0
    if isinstance(instruction, Forward):
        if stage == 0:
            return 0.0
        before = done.get((Forward, number, stage - 1))
        return None if before is None else before + travels
    own = done.get((Forward, number, stage))
    if own is None or stage == last:
        return own
    after = done.get((Backward, number, stage + 1))
    return None if after is None else max(own, after + travels)


def _one_and_two(rank: int, instruction: Instruction) -> float:
    """A backward has two matrix products for the forward's one."""
    return 1.0 if isinstance(instruction, Forward) else 2.0


def _check_finished(
    streams: Sequence[Sequence[Instruction]], table: Sequence[Sequence[Span]]
) -> None:
    waiting = [
        f"rank {rank} cannot do {stream[len(row)]}"
        for rank, (stream, row) in enumerate(zip(streams, table, strict=True))
        if len(row) < len(stream)
    ]
    if waiting:
        raise ValueError(
            f"The ranks wait for each other: {'; '.join(waiting)}. A forward needs that of the "
            "stage before, a backward its own forward and the backward of the stage after."
        )
