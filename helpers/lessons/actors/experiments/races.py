"""Finding a race on the virtual clock, and playing it again.

On real processes a race shows when it likes. On the virtual clock ranks come in between each other
only where time passes, so what happens follows from how long each step takes. Whoever tries one set
of times after the other finds those that show a race, and the same times show it again.

The code that is looked at is `count(comm, seconds)`: rank r takes a step of `seconds[r][k]` for
each k, counts it in memory that all ranks see (the first that it asks for), and gives what was
counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from helpers.engine.trace import Trace

Seconds = list[list[float]]
Count = Callable[[Any, Seconds], int]


class Touch(NamedTuple):
    """A rank read a counter, or wrote it. seconds: on the clock. value: what was there, or is now.

    counter: which one of those that it got from `comm.shared`.
    """

    rank: int
    counter: int
    kind: str
    value: int
    seconds: float


class Found(NamedTuple):
    """A run of the ranks. seed: of the times, None where they were given. counted: by each rank."""

    seed: int | None
    seconds: Seconds
    counted: list[int]
    trace: Trace
    touches: list[Touch]

    @property
    def steps(self) -> int:
        """How many were taken."""
        return sum(len(row) for row in self.seconds)

    @property
    def lost(self) -> int:
        """How many of these nobody counted."""
        return self.steps - self.counted[0]

    @property
    def overwritten(self) -> list[tuple[Touch, Touch]]:
        """Pairs of a read and the write that came of it, with another's write in between: that
        count is lost."""
        pairs, last = [], dict[int, Touch]()
        read = dict[tuple[int, int], tuple[Touch, Touch | None]]()  # and who had written last
        for touch in self.touches:
            mine = touch.rank, touch.counter
            if touch.kind == "read":
                read[mine] = touch, last.get(touch.counter)
                continue
            if mine in read and last.get(touch.counter) is not read[mine][1]:
                pairs.append((read[mine][0], touch))
            last[touch.counter] = touch
        return pairs


def times(seed: int, steps: Sequence[int]) -> Seconds:
    """Seconds of each rank's steps, 0.5 to 1.5 each, to a hundredth. steps: of each rank."""
    random = np.random.default_rng(seed)
    return [[round(float(s), 2) for s in random.uniform(0.5, 1.5, many)] for many in steps]


def run(count: Count, seconds: Seconds, seed: int | None = None) -> Found:
    """Run it once with these times, a rank for each row."""
    import helpers

    ranks = helpers.run(_noted, count, seconds, ranks=len(seconds), engine="virtual", show=False)
    touches = sorted((t for _, own in ranks for t in own), key=lambda pair: pair[0])
    counted = [int(value) for value, _ in ranks]
    return Found(seed, seconds, counted, ranks.trace, [touch for _, touch in touches])


def search(count: Count, steps: Sequence[int] = (3, 3), seeds: Iterable[int] = range(200)) -> Found:
    """The first run in which a step is lost, of one set of times after the other.

    steps: of each rank. seeds: of the times. Raises LookupError where none shows it, which does not
    say that there is no race.
    """
    tried = 0
    for seed in seeds:
        found = run(count, times(seed, steps), seed)
        if found.lost:
            return found
        tried += 1
    raise LookupError(
        f"In {tried} runs of {len(steps)} ranks no step was lost. Where little time lies between "
        "reading and writing, try more seeds, or more ranks."
    )


class _Noting:
    """A comm that notes who touches the first shared memory that is asked for, and when."""

    _order = 0  # of all touches of all ranks, which on the virtual clock share this process

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self._asked = False
        self.touches: list[tuple[int, Touch]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._comm, name)

    def shared(self, shape: Sequence[int], dtype: Any = None) -> list[Any]:
        """As the comm's own."""
        buffers = self._comm.shared(shape, dtype)
        first, self._asked = not self._asked, True
        return [_Counter(self, *each) for each in enumerate(buffers)] if first else buffers

    def note(self, counter: int, kind: str, value: Any) -> None:
        """Somebody reads, or writes."""
        _Noting._order += 1
        touch = Touch(self._comm.rank, counter, kind, int(value), self._comm.time())
        self.touches.append((_Noting._order, touch))


class _Counter:
    """A shared buffer whose numbers are read and written one by one."""

    def __init__(self, noting: _Noting, number: int, buffer: Any) -> None:
        self._noting, self._number, self._buffer = noting, number, buffer

    def __getitem__(self, place: Any) -> Any:
        self._noting.note(self._number, "read", self._buffer[place])
        return self._buffer[place].clone()

    def __setitem__(self, place: Any, value: Any) -> None:
        self._noting.note(self._number, "write", value)
        self._buffer[place] = value


def _noted(comm: Any, count: Count, seconds: Seconds) -> tuple[int, list[tuple[int, Touch]]]:
    noting = _Noting(comm)
    return count(noting, seconds), noting.touches
