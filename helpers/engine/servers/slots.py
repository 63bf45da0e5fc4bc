"""What servers, workers and their supervisor share: one slot for each worker and server.

All of it is anonymous memory, made before anybody is forked, so it outlives any process and has
no name that could be left behind. Nobody takes a lock, so a process may be killed at any moment:
each cell has one writer, data come first, and then the one counter that makes them valid.

Requests are numbered. Number 1 is the worker's wish to begin; each pull and each push is one
more. A worker waits while a server has answered fewer than it was asked.
"""

from __future__ import annotations

import math
import mmap
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any
PULL, PUSH = 0, 1
RESTARTS = 100  # of one server, at most
_ALIGN = 64

# Names, and shapes after (servers,) or (servers, workers), of what is counted.
_OF_SERVER = {
    "version": (),  # updates made, as the server last said
    "complete": (),  # 1 once its last update is saved
    "idle": (),  # 1 while it waits for messages
    "incarnation": (),  # how often it was restarted
    "bytes_in": (),
    "bytes_out": (),
    "side": (),  # which of its two saved states counts, −1 for none
    "saved": (2, 3),  # of each state: its bytes, the journal's bytes, the version
    "ended": (RESTARTS + 1,),  # at which update each incarnation died
    "restored": (RESTARTS + 1,),  # at which update each incarnation began, −1 for not at all
}
_OF_PAIR = {
    "asked": (),  # the number of the worker's last request
    "kind": (),  # of this request: PULL or PUSH
    "wants": (),  # whether it wants weights
    "base": (2,),  # the version that it was computed on, and of which incarnation
    "taken": (),  # the number of the request that the server last took up
    "promised": (),  # the number of the last answer that has been decided: it may be on a link
    "answered": (),  # the number of the last answer that is there
    "answer": (2, 4),  # even and odd answers: version, incarnation, rows or −1, with weights
}


class Slots:
    """Counters of every server and every pair of server and worker, and the arrays between them.

    initial: all weights, flat. parts: how many numbers each server has. points: how many looks at
    the model are kept.
    """

    asked: np.ndarray
    kind: np.ndarray
    wants: np.ndarray
    base: np.ndarray
    taken: np.ndarray
    promised: np.ndarray
    answered: np.ndarray
    answer: np.ndarray
    version: np.ndarray
    complete: np.ndarray
    idle: np.ndarray
    incarnation: np.ndarray
    bytes_in: np.ndarray
    bytes_out: np.ndarray
    side: np.ndarray
    saved: np.ndarray
    ended: np.ndarray
    restored: np.ndarray

    def __init__(self, initial: Array, parts: Sequence[int], workers: int, points: int) -> None:
        servers = len(parts)
        self._like = initial
        shapes = {name: (servers, *shape) for name, shape in _OF_SERVER.items()}
        shapes |= {name: (servers, workers, *shape) for name, shape in _OF_PAIR.items()}
        shapes |= {"gone": (workers,), "steps": (workers,)}
        item = initial.itemsize
        sizes = [8 * math.prod(shape) for shape in shapes.values()]
        sizes += [8, 8 * servers, 8 * servers * points]
        arrays = [part * item for part in parts for _ in range(2 * workers + points)]
        starts = [0]
        for size in (*sizes, *arrays):
            starts.append(starts[-1] + -(-size // _ALIGN) * _ALIGN)
        self._memory = mmap.mmap(-1, max(starts[-1], 1))
        place = iter(starts)
        for name, shape in shapes.items():
            setattr(self, name, self._numbers(next(place), shape, np.int64))
        self.gone: np.ndarray
        self.steps: np.ndarray  # gradients that each worker has begun
        self.began: np.ndarray = self._numbers(next(place), (1,), np.float64)
        self.finished: np.ndarray = self._numbers(next(place), (servers,), np.float64)
        self.looks: np.ndarray = self._numbers(next(place), (servers, points), np.float64)
        self.pushed: list[list[Array]] = []
        self.given: list[list[Array]] = []
        self.seen: list[list[Array]] = []  # weights at each look
        for part in parts:
            for kept, count in ((self.pushed, workers), (self.given, workers), (self.seen, points)):
                kept.append([self._array(next(place), part) for _ in range(count)])
        self.asked[:] = self.taken[:] = 1
        self.side[:] = -1
        self.restored[:, 1:] = -1
        self.looks[:] = math.nan

    def now(self) -> float:
        """Seconds since the training began, the same in every process."""
        return time.monotonic() - float(self.began[0])

    def last_answers(self, server: int) -> np.ndarray:
        """The last answer to each worker, (workers, 4); whole even if its writer was killed."""
        workers = np.arange(len(self.gone))
        return self.answer[server, workers, self.answered[server] % 2]

    def floor(self, server: int, incarnation: int) -> float:
        """Up to which version this incarnation's weights still count; later ones were lost."""
        later = self.restored[server, incarnation + 1 : int(self.incarnation[server]) + 1]
        return min(later, default=math.inf)

    def waiting(self) -> np.ndarray:
        """Which pairs wait: the worker has asked and the server has not answered, as booleans."""
        return self.answered < self.asked

    def _numbers(self, start: int, shape: tuple[int, ...], kind: type) -> np.ndarray:
        flat: np.ndarray = np.frombuffer(self._memory, kind, math.prod(shape), start)
        return flat.reshape(shape)

    def _array(self, start: int, count: int) -> Array:
        """Numbers of the same kind as the weights, over the shared memory."""
        if isinstance(self._like, np.ndarray):
            return np.frombuffer(self._memory, self._like.dtype, count, start)
        import torch

        if not count:
            return torch.empty(0, dtype=self._like.dtype)
        return torch.frombuffer(self._memory, dtype=self._like.dtype, count=count, offset=start)


def copy_of(array: Array) -> Array:
    """An array's numbers in memory of one's own."""
    return array.copy() if isinstance(array, np.ndarray) else array.clone()


def put(target: Array, array: Array, what: str) -> None:
    """Copy an array into shared memory. Raises ValueError where it is of another length or kind."""
    fits(target, array, what)
    target[:] = array.detach() if hasattr(array, "detach") else array


def fits(target: Array, array: Array, what: str) -> None:
    """Raise ValueError where an array is of another length or kind than where it goes."""
    kinds = [getattr(a, "dtype", type(a).__name__) for a in (target, array)]
    lengths = [tuple(getattr(a, "shape", ())) for a in (target, array)]
    if kinds[0] != kinds[1] or lengths[0] != lengths[1]:
        raise ValueError(
            f"{what} has the shape {lengths[1]} and is of {kinds[1]}; where it goes has "
            f"{lengths[0]} of {kinds[0]}, as the task's initial weights. Return an array like the "
            "weights."
        )
