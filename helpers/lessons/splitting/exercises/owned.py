"""The driver of 12.2 and 12.4: what a rank gives is of its own, and of torch.

A rank alone is asked again with other numbers: a message would count twice elsewhere.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.compare import agree
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import CHANGED, Requests, all_waited
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Observation

LATER = "later"
"""The key that tells of an answer whose next call wrote into what this one gave."""


class NumpyArray:
    """Stands for one where a tensor was asked for."""


NumpyArray.__name__ = "numpy array"  # as a hint has it


def of_torch(value: Any) -> Any:
    """A value in which numpy's arrays are no arrays."""
    if type(value) in (list, tuple):
        return type(value)(map(of_torch, value))
    return NumpyArray() if isinstance(value, np.ndarray) else value


def _owned(fn: Any, comm: Any, *args: Any) -> Any:
    """What `fn(comm, *args)` returns; where it wrote into args, {"changed": place, "returned": …}.

    {"later": True, "returned": …} where a second call writes into that. Messages: `all_waited`.
    """
    before = [arg.clone() if isinstance(arg, Tensor) else arg for arg in args]
    requests = Requests(comm)
    gave = of_torch(fn(comm, *args))
    value = all_waited(requests, gave)
    for place, (arg, was) in enumerate(zip(args, before, strict=True)):
        if isinstance(arg, Tensor) and not torch.equal(arg.detach(), was):
            return {CHANGED: place, "returned": value}
    if comm.size > 1:
        return value
    first = plain(gave)
    fn(comm, *(arg + 1 if isinstance(arg, Tensor) else arg for arg in args))
    return value if agree(plain(gave), first) else {LATER: True, "returned": first}


owned = Ranked(_owned)


def overwritten(case: Case, seen: Observation) -> str | None:
    """The hint for a result that the next call writes into."""
    for value in seen.values:
        if type(value) is dict and LATER in value:
            return (
                f"{case.name}, the next call wrote into what this one had returned: make tensors "
                "of your own in every call."
            )
    return None
