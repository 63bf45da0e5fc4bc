"""What ranks note in a file while they train, so that it is known after they have been killed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

MOST_RANKS = 16
PID, REACHED, BEGUN, ENDED, SAVED, MICROSECONDS = range(6)
NEVER = -1


class Notes:
    """A table with a row for each rank, and the loss of each step, in a file that all map.

    table: (ranks, 6), int64: the process, the step reached, saves begun and saves complete in this
    run, the step of the latest complete one (or −1), and how long the last one took. losses:
    (steps,), float64, NaN for a step that nobody has taken.
    What a process has written to such memory is there after its end, whatever ended it.
    """

    def __init__(self, path: str | Path, steps: int | None = None) -> None:
        new = steps is not None
        if new:
            Path(path).write_bytes(bytes(8 * (6 * MOST_RANKS + (steps or 0))))
        whole = np.memmap(path, np.int64, "r+")
        self.table = whole[: 6 * MOST_RANKS].reshape(MOST_RANKS, 6)
        self.losses = whole[6 * MOST_RANKS :].view(np.float64)
        if new:
            self.losses[:] = np.nan
            self.begins()
            self.table[:, SAVED] = NEVER

    def begins(self) -> None:
        """A run begins: no process is known, and no save of it."""
        self.table[:, [PID, BEGUN, ENDED]] = 0

    def rank(self, number: int) -> RankNotes:
        """For rank `number` to note what it does; its process is noted at once."""
        return RankNotes(self, number)

    @property
    def pids(self) -> list[int]:
        """The processes of this run, as far as they are there."""
        return [int(pid) for pid in self.table[:, PID] if pid]

    @property
    def begun(self) -> int:
        """Saves that have begun in this run, on the rank that is ahead."""
        return int(self.table[:, BEGUN].max())

    @property
    def reached(self) -> int:
        """Steps that have been taken, in any run."""
        return int(self.table[:, REACHED].max())

    @property
    def saved(self) -> int:
        """The latest step whose save has come back, on any rank, in any run; −1 for none."""
        return int(self.table[:, SAVED].max())

    @property
    def seconds(self) -> float:
        """What the last save took on rank 0; 0 where there was none."""
        return float(self.table[0, MICROSECONDS]) / 1e6

    @property
    def writing(self) -> bool:
        """Whether a rank is in the middle of a save."""
        return bool((self.table[:, BEGUN] > self.table[:, ENDED]).any())


class RankNotes:
    """One rank's row."""

    def __init__(self, notes: Notes, number: int) -> None:
        self.row, self.losses = notes.table[number], notes.losses
        self.row[PID] = os.getpid()
        self.first, self.began = number == 0, 0.0

    def reached(self, step: int, loss: float) -> None:
        """A step has been taken; rank 0 notes its loss."""
        self.row[REACHED] = max(self.row[REACHED], step)
        if self.first:
            self.losses[step - 1] = loss

    def saving(self, step: int) -> None:
        """A save begins."""
        self.began = time.perf_counter()
        self.row[BEGUN] += 1

    def saved(self, step: int | None) -> None:
        """A save is complete: from now on it must not be lost. None: there is nothing to note."""
        if step is not None:
            self.row[SAVED] = max(self.row[SAVED], step)
            self.row[MICROSECONDS] = round(1e6 * (time.perf_counter() - self.began))
            self.row[ENDED] += 1


class NoNotes:
    """For a training that nobody will kill."""

    def reached(self, step: int, loss: float) -> None:
        """As in `RankNotes`."""

    def saving(self, step: int) -> None:
        """As in `RankNotes`."""

    def saved(self, step: int | None) -> None:
        """As in `RankNotes`."""
