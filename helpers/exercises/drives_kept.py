"""Drivers that call an ordinary function more than once, or see what it leaves of its arguments."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from helpers.exercises.compare import agree
from helpers.exercises.drives import Function, Remote, plain, plain_call
from helpers.exercises.drives_split import CHANGED
from helpers.exercises.spec import Case, Observation


def call_also(fn: Function, case: Case) -> Observation:
    """As `plain_call`, then for each of `options["also"]`, other arguments: `values[0]` is the list
    of what it gave, with None where it gave nothing."""
    seen = plain_call(fn, case)
    if seen.trouble:
        return seen
    also = [plain_call(fn, replace(case, args=(args,))) for args in case.options["also"]]
    return Observation(
        values=[[seen.values[0], *(None if a.trouble else a.values[0] for a in also)]]
    )


def call_with_tensors(fn: Function, case: Case) -> Observation:
    """As `plain_call`; {"changed": place, "returned": value} where it wrote into an argument.

    place: of the first such tensor, list or dictionary. What happens to these two in another
    process shows only in what a second call with them gives.
    """
    given: list[tuple[int, Any, Any]] = []

    @wraps(fn)
    def noting(*args: Any) -> Any:
        for place, arg in enumerate(args):
            if isinstance(arg, Tensor | list | dict):
                given.append((place, arg, arg.clone() if isinstance(arg, Tensor) else copy(arg)))
        value = fn(*args)
        if isinstance(fn, Remote) and any(isinstance(arg, list | dict) for arg in args):
            again.append((plain(value), plain(fn(*args))))
        return value

    again: list[tuple[Any, Any]] = []
    seen = plain_call(noting, case)
    written = [place for place, arg, was in given if not _same(arg, was)]
    # Where a tensor was written into, the second call was given another one.
    if not written and any(not agree(first, second) for first, second in again):
        written = [place for place, arg, _ in given if isinstance(arg, list | dict)]
    if written and not seen.trouble:
        seen.values = [{CHANGED: written[0], "returned": seen.values[0]}]
    return seen


def _same(arg: Any, was: Any) -> bool:
    if not isinstance(was, Tensor):
        return bool(arg == was)
    alike = arg.shape == was.shape and arg.dtype == was.dtype
    return alike and torch.equal(arg.detach(), was)
