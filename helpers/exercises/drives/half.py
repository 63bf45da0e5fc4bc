"""A driver for functions on ranks that are given a tensor, which they change, and a type."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.exercises.drives.calling import Function, made
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.requests import OPEN, Requests
from helpers.exercises.drives.values import Remote


def type_of(name: str) -> torch.dtype:
    """torch's type of that name, such as "bfloat16"."""
    found = getattr(torch, name)
    assert isinstance(found, torch.dtype)
    return found


def _in_its_memory(fn: Function, comm: Any, tensor: Tensor, kind: str) -> Any:
    """Call `fn(comm, tensor, torch's type of that name)`.

    What the memory holds afterwards in which the tensor lay, what was returned in its place, and
    how many messages were left open. Who gives the tensor other memory, as `tensor.data = …` does,
    has not written into this.
    """
    # Only in the learner's own process can a tensor be given other memory; and the grader moves it.
    memory = tensor if isinstance(fn, Remote) else tensor.detach()
    requests = Requests(comm)
    returned = fn(comm, tensor, made(fn, type_of, kind))
    given = None if returned is tensor else returned
    return {"after": memory, "returned": given, OPEN: requests.end()}


in_its_memory = Ranked(_in_its_memory)
