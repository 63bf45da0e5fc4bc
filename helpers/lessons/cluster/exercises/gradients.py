"""Gradients whose sum in another order has other bits, handed over, and what is not so of a sum."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.compare import describe, is_array, told_apart
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import CHANGED, Requests, all_waited

PLAIN, _CANCELLING = 4, 24  # elements of a gradient
FLAT, MATRIX = (28,), (4, 7)  # its shapes
_LARGE = {"float32": 2.0**40, "float64": 2.0**70}  # to which adding a small one changes nothing


def gradients(random: Any, owner: Sequence[int], ranks: int, kind: str) -> np.ndarray:
    """A row for each part. In most columns two numbers cancel that swallow whatever is added to
    them, so what is left tells in which order they were added; the others hold many magnitudes."""
    parts = len(owner)
    table = random.integers(1, 10, (parts, PLAIN + _CANCELLING)).astype(kind)
    sizes = 10.0 ** random.integers(-3, 3, (parts, PLAIN))
    table[:, :PLAIN] = sizes * random.standard_normal((parts, PLAIN))
    for column in range(PLAIN, table.shape[1] if parts > 1 else 0):
        first, second = sorted(random.choice(parts, 2, replace=False).tolist())
        if column % 2 and parts > 2 * ranks:  # both on one rank, which adds nothing else to them
            rank = int(random.choice([r for r in range(ranks) if owner.count(r) > 1]))
            own = [part for part in range(parts) if owner[part] == rank]
            first, second = sorted(random.choice(own, 2, replace=False).tolist())
            table[own, column] = 0
        table[first, column], table[second, column] = _LARGE[kind], -_LARGE[kind]
    if kind == "float64" and parts > 2:  # what float32 has no digit for
        table[0, PLAIN], table[1, PLAIN] = 2.0**24 + 1, -(2.0**24)
        table[2:, PLAIN] = random.integers(1, 10, parts - 2)
    return np.asarray(table)


def _in_parts(fn: Function, comm: Any, mine: Any, parts: int, like: Tensor) -> Any:
    """What `fn(comm, mine, parts, like)` returns; {"changed": what, "returned": …} where it changed

    0: a gradient in `mine`, 1: what `mine` holds, 2: `like`. Messages left open: as `all_waited`.
    """
    kept, was = {part: gradient.clone() for part, gradient in mine.items()}, like.clone()
    held = dict(mine)
    requests = Requests(comm)
    value = all_waited(requests, fn(comm, held, parts, like))
    if not all(torch.equal(mine[part], kept[part]) for part in kept):
        return {CHANGED: 0, "returned": value}
    if gradients_of(held) != gradients_of(kept):
        return {CHANGED: 1, "returned": value}
    return value if torch.equal(like, was) else {CHANGED: 2, "returned": value}


def gradients_of(mine: Mapping[int, Tensor]) -> list[list[str]]:
    """The parts' numbers and what their gradients hold, as texts."""
    return sorted([repr(part), repr(gradient.tolist())] for part, gradient in mine.items())


in_parts = Ranked(_in_parts)


def telling(got: np.ndarray, want: np.ndarray) -> tuple[int, str, str]:
    """The element that is furthest off, of those in which nothing large is left: where it is, what
    it is, and what it should be."""
    with np.errstate(all="ignore"):
        off = np.where(np.abs(got) < 1e6, np.abs(got - want), 0)
    at = int(off.argmax()) if off.max() > 0 else int((got != want).argmax())
    return at, *told_apart(float(got[at]), float(want[at]))


def fault_of(got: Any, want: np.ndarray, shape: tuple[int, ...]) -> str | None:
    """What is not so of one rank's sum. want: flat; shape: of a gradient."""
    if not is_array(got, shape):
        return f"returned {describe(got)}; a gradient has the shape {shape}"
    got = got.ravel()
    if got.dtype != want.dtype:
        return f"returned {got.dtype}; the gradients are {want.dtype}"
    if not (got != want).any():
        return None
    at, has, should = telling(got, want)
    return (
        f"has {has} as element {at}; added one by one in the order of the parts, from zeros on, it "
        f"is {should}. {int((got != want).sum())} of {len(want)} elements have other bits"
    )
