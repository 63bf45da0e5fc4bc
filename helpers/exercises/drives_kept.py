"""A driver for an ordinary function that must leave its tensors and lists as they were."""

from __future__ import annotations

from functools import wraps
from typing import Any

import torch
from torch import Tensor

from helpers.exercises.compare import alike
from helpers.exercises.drives import Function, Remote, plain, plain_call
from helpers.exercises.drives_split import CHANGED
from helpers.exercises.spec import Case, Observation


def call_with_tensors(fn: Function, case: Case) -> Observation:
    """As `plain_call`; {"changed": place, "returned": value} where it wrote into an argument.

    place: of the first such tensor or list among the arguments. What happens to a list in another
    process shows only in what a second call with it gives.
    """
    given: list[tuple[int, Any, Any]] = []

    @wraps(fn)
    def noting(*args: Any) -> Any:
        for place, arg in enumerate(args):
            if isinstance(arg, Tensor | list):
                given.append((place, arg, arg.clone() if isinstance(arg, Tensor) else list(arg)))
        value = fn(*args)
        if isinstance(fn, Remote) and any(isinstance(arg, list) for arg in args):
            again.append((plain(value), plain(fn(*args))))
        return value

    again: list[tuple[Any, Any]] = []
    seen = plain_call(noting, case)
    written = [place for place, arg, was in given if not _same(arg, was)]
    if any(not alike(first, second) for first, second in again):
        written = [place for place, arg, _ in given if isinstance(arg, list)]
    if written and not seen.trouble:
        seen.values = [{CHANGED: written[0], "returned": seen.values[0]}]
    return seen


def _same(arg: Any, was: Any) -> bool:
    if not isinstance(was, Tensor):
        return bool(arg == was)
    alike = arg.shape == was.shape and arg.dtype == was.dtype
    return alike and torch.equal(arg.detach(), was)
