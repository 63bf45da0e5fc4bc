"""The largest of all ranks' numbers, on every rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from helpers.lessons.messages.algorithms.collectives import flat_view

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


def all_reduce_max(comm: Comm, tensor: Tensor) -> Tensor:
    """Put the element-wise maximum over all ranks into every rank's tensor, and return it.

    In round k every rank passes on what it has to the rank 2ᵏ to its right, so each has heard of
    twice as many ranks after it. Some are heard of twice where N is no power of two, which does a
    maximum no harm (a sum would count them twice). Takes ⌈log₂ N⌉ (α + nβ) seconds for a tensor
    of n bytes; each rank sends ⌈log₂ N⌉ n bytes.
    Source: Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization" (1988), for
    the pattern. Raises ValueError where the tensor's elements do not lie in a row.
    """
    flat = flat_view(tensor)
    scratch = torch.empty_like(flat)
    distance = 1
    while distance < comm.size:
        sending = comm.isend(flat, (comm.rank + distance) % comm.size)
        heard = comm.recv((comm.rank - distance) % comm.size, into=scratch)
        sending.wait()
        torch.maximum(flat, heard, out=flat)
        distance *= 2
    return tensor
