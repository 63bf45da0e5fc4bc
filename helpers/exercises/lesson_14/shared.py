"""What exercises of this lesson have in common: messages that nobody waits for, pairs that were
asked for, and ranks that do not come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from helpers.exercises.compare import describe, listing
from helpers.exercises.drives.requests import Requests
from helpers.exercises.spec import Case, Look, Observation


def told_by_all(comm: Any, tensor: Any, waits: bool = False, to_itself: bool = False) -> list[Any]:
    """Every rank's tensor, in order. waits: for what this rank sends."""
    others = [rank for rank in range(comm.size) if to_itself or rank != comm.rank]
    requests = [comm.isend(tensor.detach().clone(), other) for other in others]
    told = [comm.recv(rank) if rank in others else tensor for rank in range(comm.size)]
    for request in requests if waits else []:
        request.wait()
    return told


def returned(value: Any) -> tuple[Any, Any]:
    """The pair that a rank gave; None, None where it gave none."""
    gave = value["returned"]
    if isinstance(gave, tuple | list) and len(gave) == 2:
        return gave[0], gave[1]
    return None, None


def no_pair(names: str) -> Look:
    """What recognises a rank that gave no pair. names: of the two, in brackets."""

    def look(case: Case, seen: Observation) -> Iterator[str]:
        for rank, value in enumerate(seen.values):
            if returned(value) == (None, None):
                what = describe(value["returned"])
                yield f"rank {rank} returned {what}: return the pair {names}."

    return look


def stayed_away(case: Case, seen: Observation) -> str:
    """The ranks that others wait for in vain: "ranks 1 and 2"; nothing where all wait, or none."""
    away = sorted(set(range(case.ranks)) - set(seen.waiting))
    if not seen.waiting or not away:
        return ""
    return f"{'rank' if len(away) == 1 else 'ranks'} {listing(away)}"


class Watch:
    """A rank's messages: the bytes they take, how many nobody waited for, copies where asked."""

    def __init__(self, comm: Any, copies: bool = False) -> None:
        self.bytes, self.open, self.sent = 0, 0, list[Tensor]()
        self.comm, self.copies = comm, copies
        self.isend = comm.isend
        self.start()

    def start(self) -> None:
        """Look from here on."""
        self.comm.isend = self.isend
        self.requests = Requests(self.comm)
        noted = self.comm.isend

        def isend(tensor: Any, to: int) -> Any:
            request = noted(tensor, to)
            self.bytes += getattr(tensor, "header", tensor).nbytes
            if self.copies:
                held = tensor.unpacked() if hasattr(tensor, "unpacked") else tensor
                self.sent.append(torch.as_tensor(held).detach().clone().reshape(-1))
            return request

        self.comm.isend = isend

    def with_slice(self, part: Tensor) -> int:
        """How many messages began with the numbers of a slice: it alone, or with padding."""
        size = len(part)
        alike = [each[:size] for each in self.sent if size and each.dtype == part.dtype]
        return sum(torch.equal(each, part) for each in alike)

    def take(self) -> int:
        """Bytes since the last time; messages that are still open are counted in `open`."""
        self.open += self.requests.end()
        for request in self.requests.all:
            # Or each would hold itself, and the tensor that was sent.
            del request.wait, request.done
        self.start()
        taken, self.bytes = self.bytes, 0
        return taken
