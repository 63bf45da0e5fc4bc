"""The driver for functions that owe: what one call leaves is handed to the next one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.exercises.drives.arguments import CHANGED
from helpers.exercises.drives.calling import Function, failed, wrong_signature
from helpers.exercises.drives.values import plain, tensors
from helpers.exercises.spec import Case, Observation


def step_by_step(fn: Function, case: Case) -> Observation:
    """Call `fn(gradient, error, …)` for one gradient after the other, with what it owes by then.

    The case's arguments: the gradients, one a row, the first error, and what else `fn` takes.
    Gradients come in one tensor, each in its turn. `values[0]`: the list of what it gave, as long
    as the third thing was an error to go on with; {"changed": place, "returned": list} where it
    wrote into its gradient (0) or the error (1).
    """
    gradients, error, *others = tensors(case.args[0])
    trouble = wrong_signature(fn, 2 + len(others))
    if trouble:
        return trouble
    place, gave = torch.empty_like(gradients[0]), list[Any]()
    written: int | None = None
    try:
        for gradient in gradients:
            place.copy_(gradient)
            before = error.clone()
            value = fn(place, error, *others)
            gave.append(plain(value))
            for at, (now, was) in enumerate(((place, gradient), (error, before))):
                if written is None and not _same(now, was):
                    written = at
            left = value[2] if isinstance(value, tuple | list) and len(value) == 3 else None
            left = torch.from_numpy(left) if isinstance(left, np.ndarray) else left
            if not isinstance(left, Tensor) or left.shape != error.shape:
                break
            error = left
    except Exception as problem:
        return failed(problem, fn)
    held = gave if written is None else {CHANGED: written, "returned": gave}
    return Observation(values=[held])


def _same(now: Tensor, was: Tensor) -> bool:
    return now.shape == was.shape and torch.allclose(now, was, 0.0, 0.0, equal_nan=True)
