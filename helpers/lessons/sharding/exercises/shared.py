"""What exercises of this lesson have in common: messages that are watched or that nobody waits for,
pairs that were asked for, arguments that were written into, and ranks that do not come."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from helpers.checks.compare import describe, listing
from helpers.checks.drives import requests
from helpers.checks.drives.requests import Requests
from helpers.checks.spec import Case, Look, Observation


def watched(comm: Any, call: Callable[[], Any]) -> tuple[Any, int, int]:
    """What `call()` gives, the bytes that this rank sends meanwhile, and how many messages of its
    own are open then."""
    requests = Requests(comm, note=lambda held: getattr(held, "nbytes", 0))
    value = call()
    still = requests.end()
    for request in requests.all:
        # Or each would hold itself, and the tensor that was sent.
        del request.wait, request.done
    return value, sum(requests.told), still


def go_back(comm: Any, out: Any, above: Tensor) -> tuple[bool, int, int]:
    """Backward from `out`, whose gradient is `above`: whether there is a way; the rest as
    `watched`."""
    if not (isinstance(out, Tensor) and out.requires_grad and out.shape == above.shape):
        return False, 0, 0
    return True, *watched(comm, lambda: torch.autograd.backward(out, above.to(out.dtype)))[1:]


def first_changed(now: Iterable[Tensor], before: Iterable[Tensor]) -> int | None:
    """The place of the first tensor that is not what it was."""
    pairs = enumerate(zip(now, before, strict=False))
    return next((place for place, (one, was) in pairs if not torch.equal(one.detach(), was)), None)


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
    gave = requests.returned(requests.returned(value))  # changed, and left open
    if isinstance(gave, tuple | list) and len(gave) == 2:
        return gave[0], gave[1]
    return None, None


def no_pair(names: str) -> Look:
    """What recognises a rank that gave no pair. names: of the two, in brackets."""

    def look(case: Case, seen: Observation) -> Iterator[str]:
        for rank, value in enumerate(seen.values):
            if returned(value) == (None, None):
                what = describe(requests.returned(value))
                yield f"rank {rank} returned {what}: return the pair {names}."

    return look


def wrote_into(hint: str, *names: str) -> Callable[[Case, Observation], Iterator[str]]:
    """What recognises an answer that wrote into an argument. hint: with {rank}, and {name} where
    the arguments' names are given."""

    def look(case: Case, seen: Observation) -> Iterator[str]:
        for rank, value in enumerate(seen.values):
            place = requests.changed(value)
            if place is not None:
                yield hint.format(rank=rank, name=dict(enumerate(names)).get(place))

    return look


def stay_away(hint: str) -> Look:
    """What recognises ranks that others wait for in vain. hint: with {away}, "ranks 1 and 2"."""

    def look(case: Case, seen: Observation) -> str | None:
        away = sorted(set(range(case.ranks)) - set(seen.waiting))
        if not seen.waiting or not away:
            return None
        return hint.format(away=f"{'rank' if len(away) == 1 else 'ranks'} {listing(away)}")

    return look


def fails(hint: str, *pieces: str) -> Callable[[Case, Observation], str | None]:
    """What recognises an exception by one of some pieces of its text. hint: with {rank}, {said},
    its first line, and {sizes}, of the case's bounds; in both the case's facts by their names."""

    def look(case: Case, seen: Observation) -> str | None:
        sizes = listing(b - a for a, b in case.facts.get("bounds", ()))
        said = seen.text.partition("\n")[0].rstrip(".")
        named = {**case.facts, "rank": seen.rank, "said": said, "sizes": sizes}
        found = any(piece.format(**named) in seen.text for piece in pieces)
        return hint.format(**named) if seen.trouble == "failed" and found else None

    return look
