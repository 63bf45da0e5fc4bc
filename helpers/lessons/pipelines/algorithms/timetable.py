"""When each instruction of a pipeline runs, worked out without ranks.

A rank carries out its instructions in order, each as soon as the one before it is done and what it
needs has come. That is all there is to a schedule's time; `Pipeline` on the virtual clock gives the
same times, with real tensors in the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from helpers.lessons.pipelines.algorithms.instructions import (
    Backward,
    BackwardInput,
    BackwardWeights,
    Forward,
    Instruction,
)


class Span(NamedTuple):
    """An instruction with the seconds at which its computing began and ended."""

    instruction: Instruction
    start: float
    end: float


Done = dict[tuple[type, int, int], float]  # (kind, microbatch, stage): when
Place = Callable[[int, int, int], int]
"""(rank, chunk, ranks) to the stage of the model that this chunk is."""


def in_turn(rank: int, chunk: int, ranks: int) -> int:
    """Chunks go round the ranks: stage c·p + r."""
    return chunk * ranks + rank


def in_a_v(rank: int, chunk: int, ranks: int) -> int:
    """Odd chunks come back the way that even ones went, so that a chunk and the next one meet."""
    return chunk * ranks + (ranks - 1 - rank if chunk % 2 else rank)


def timetable(
    streams: Sequence[Sequence[Instruction]],
    seconds: Callable[[int, Instruction], float] | None = None,
    message: float = 0.0,
    place: Place = in_turn,
) -> list[list[Span]]:
    """When each rank does what, with all stages starting at 0.

    streams: the instructions of every rank, in rank order. What a stage computes goes to the next,
    and gradients go back. place: which stage a chunk of a rank is.
    seconds: (rank, instruction) to how long it takes; by default 1 forward and 2 backward, 1 for
    either half of it.
    message: seconds that a message takes between two ranks, beside the computing of both.
    Raises ValueError where the ranks end up waiting for each other, and says for what.
    """
    size = len(streams)
    chunks = 1 + max((i.chunk for stream in streams for i in stream), default=0)
    waits = _Waits({place(r, c, size): r for r in range(size) for c in range(chunks)}, message)
    cost = _one_and_two if seconds is None else seconds
    table: list[list[Span]] = [[] for _ in streams]
    free = [0.0] * size
    moved = True
    while moved:
        moved = False
        for rank, stream in enumerate(streams):
            while len(table[rank]) < len(stream):
                instruction = stream[len(table[rank])]
                stage = place(rank, instruction.chunk, size)
                ready = waits.until(instruction, stage)
                if ready is None:
                    break
                start = max(free[rank], ready)
                free[rank] = start + cost(rank, instruction)
                table[rank].append(Span(instruction, start, free[rank]))
                waits.done[_made(instruction), instruction.microbatch, stage] = free[rank]
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


def own_idle(row: Sequence[Span]) -> float:
    """Seconds that a rank idles between its first instruction and its last."""
    return row[-1].end - row[0].start - sum(span.end - span.start for span in row)


def _made(instruction: Instruction) -> type:
    """What an instruction makes: the half of a backward that others wait for is as good as all."""
    return Backward if isinstance(instruction, BackwardInput) else type(instruction)


class _Waits:
    """What is done, and until when an instruction waits. ranks: of each stage the rank it is on."""

    def __init__(self, ranks: dict[int, int], message: float) -> None:
        self.ranks, self.message, self.last = ranks, message, len(ranks) - 1
        self.done: Done = {}

    def until(self, instruction: Instruction, stage: int) -> float | None:
        """When what an instruction needs has come; None where that is not known yet."""
        number = instruction.microbatch
        if isinstance(instruction, BackwardWeights):
            return self.done.get((Backward, number, stage))
        if isinstance(instruction, Forward):
            return 0.0 if stage == 0 else self._from(Forward, number, stage - 1, stage)
        own = self.done.get((Forward, number, stage))
        if own is None or stage == self.last:
            return own
        after = self._from(Backward, number, stage + 1, stage)
        return None if after is None else max(own, after)

    def _from(self, kind: type, number: int, source: int, stage: int) -> float | None:
        made = self.done.get((kind, number, source))
        travels = self.message if self.ranks[source] != self.ranks[stage] else 0.0
        return None if made is None else made + travels


def _one_and_two(rank: int, instruction: Instruction) -> float:
    """A backward has two matrix products for the forward's one."""
    return 2.0 if isinstance(instruction, Backward) else 1.0


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
