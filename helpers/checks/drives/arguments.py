"""Drivers that see what a function leaves of its arguments, or call it more than once."""

from copy import copy
from dataclasses import replace
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from helpers.checks.drives.calling import Function, plain_call
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import CHANGED, Requests, all_waited
from helpers.checks.spec import Case, Observation


def _left_alone(fn: Function, comm: Any, *args: Any) -> Any:
    """What `fn(comm, *args)` returns; where it wrote into args, {"changed": place, "returned": …}.

    place: the first one of those tensors among args. Messages left open: as `all_waited`.
    """
    before = [arg.clone() if isinstance(arg, Tensor) else arg for arg in args]
    requests = Requests(comm)
    value = all_waited(requests, fn(comm, *args))
    for place, (arg, was) in enumerate(zip(args, before, strict=True)):
        if isinstance(arg, Tensor) and not torch.equal(arg.detach(), was):
            return {CHANGED: place, "returned": value}
    return value


left_alone = Ranked(_left_alone)


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

    place: of the first such tensor, list or dictionary.
    """
    given: list[tuple[int, Any, Any]] = []

    @wraps(fn)
    def noting(*args: Any) -> Any:
        for place, arg in enumerate(args):
            if isinstance(arg, Tensor | list | dict):
                given.append((place, arg, arg.clone() if isinstance(arg, Tensor) else copy(arg)))
        return fn(*args)

    seen = plain_call(noting, case)
    written = [place for place, arg, was in given if not _same(arg, was)]
    if written and not seen.trouble:
        seen.values = [{CHANGED: written[0], "returned": seen.values[0]}]
    return seen


def _same(arg: Any, was: Any) -> bool:
    if not isinstance(was, Tensor):
        return bool(arg == was)
    alike = arg.shape == was.shape and arg.dtype == was.dtype
    return alike and torch.equal(arg.detach(), was)
