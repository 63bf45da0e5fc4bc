"""Drivers for lesson 17: an environment that stays as it is, and gradients that do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from helpers.exercises.drives.arguments import CHANGED
from helpers.exercises.drives.calling import Function, failed, made, there, wrong_signature
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.requests import Requests, all_waited
from helpers.exercises.drives.values import plain
from helpers.exercises.spec import Case, Observation


def in_environment(fn: Function, case: Case) -> Observation:
    """Call `fn(environ)` once: `values[0]` is what it gives.

    Where it changed variables, it is {"changed": 0, "names": theirs, "returned": what it gives}.
    """
    trouble = wrong_signature(fn, 1)
    if trouble:
        return trouble
    environ = case.args[0][0]
    try:
        held = made(fn, dict, list(environ.items()))
        value = plain(fn(held))
        after = there(fn, variables_of, held)
    except Exception as error:
        return failed(error, fn)
    before = variables_of(environ)
    if after == before:
        return Observation(values=[value])
    names = sorted({one[0] for one in [*before, *after] if (one in before) != (one in after)})
    return Observation(values=[{CHANGED: 0, "names": names, "returned": value}])


def variables_of(environ: Mapping[str, str]) -> list[list[str]]:
    """Names and values as texts, in the order of the names."""
    return sorted([str(name), str(value)] for name, value in environ.items())


def _in_parts(fn: Function, comm: Any, mine: Any, parts: int, like: Tensor) -> Any:
    """What `fn(comm, mine, parts, like)` returns; {"changed": what, "returned": …} where it changed

    0: a gradient in `mine`, 1: what `mine` holds, 2: `like`. Messages left open: as `all_waited`.
    """
    kept, was = {part: gradient.clone() for part, gradient in mine.items()}, like.clone()
    held = made(fn, dict, list(mine.items()))
    requests = Requests(comm)
    value = all_waited(requests, fn(comm, held, parts, like))
    if not all(torch.equal(mine[part], kept[part]) for part in kept):
        return {CHANGED: 0, "returned": value}
    if there(fn, gradients_of, held) != gradients_of(kept):
        return {CHANGED: 1, "returned": value}
    return value if torch.equal(like, was) else {CHANGED: 2, "returned": value}


def gradients_of(mine: Mapping[int, Tensor]) -> list[list[str]]:
    """The parts' numbers and what their gradients hold, as texts."""
    return sorted([repr(part), repr(gradient.tolist())] for part, gradient in mine.items())


in_parts = Ranked(_in_parts)
