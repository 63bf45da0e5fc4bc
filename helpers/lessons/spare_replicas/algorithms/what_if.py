"""What a run would have taken without its stragglers: its steps replayed, some of them idealised.

A run's steps are known by two moments of each worker: when it began to compute, and when its
gradient was ready. From these follow what each operation took by itself:

- computing: from the beginning to the gradient;
- sending: from the moment at which the *last* gradient of the step was ready to the moment at which
  the worker begins its next step. What lies before, from its own gradient to the last one, is
  waiting: no operation's own, but a consequence of others.

A replay starts each operation as soon as what it depends on is over, so that waiting comes out
anew. Replace some operations by what is usual for such a one, and the replay gives the run that
would have been. `what_if` replays steps that wait for all; `replay` those that wait for some.

What is usual is the median over the workers of a step, of an even number the lower one of the two
in the middle: half of the workers may be late then. Lin et al. take the mean over workers and
steps for computing, as if the same work had been dealt out evenly, and the median for sending.

Source: J. Lin et al., "Understanding Stragglers in Large Model Training Using What-if Analysis",
OSDI 2025, section 3.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class Operations(NamedTuple):
    """What each worker's operations took, in seconds, without any waiting.

    computing: (steps, workers), nan where a worker gave no gradient for that step, inf where it
    was still computing one when the run ended. sending: (steps, workers), from the last gradient
    that the step needed until the worker goes on; for a gradient that came too late, from that
    gradient itself.
    """

    computing: Tensor
    sending: Tensor


def operations(begun: Tensor, ready: Tensor) -> Operations:
    """The operations of a run whose steps wait for all workers.

    begun: (steps + 1, workers), in seconds: when each worker began each step; its last row is when
    it was through with the last one. ready: (steps, workers): when its gradient was ready.
    """
    return Operations(ready - begun[:-1], begun[1:] - ready.max(dim=1, keepdim=True).values)


def usual(computing: Tensor) -> Tensor:
    """What is usual in each step: (steps, 1), the median of the workers that computed in it."""
    return computing.nanmedian(dim=1, keepdim=True).values


def fix(computing: Tensor, workers: Iterable[int]) -> Tensor:
    """A new (steps, workers), in which these workers take what is usual in every step."""
    fixed = computing.clone()
    fixed[:, list(workers)] = usual(computing)
    return fixed


def what_if(begun: Tensor, ready: Tensor, fixed: Iterable[int]) -> tuple[Tensor, Tensor]:
    """The run as it would have been, had some workers computed as quickly as is usual.

    begun, ready: of the run, as in `operations`. fixed: the workers. Returns: begun and ready of
    the run that would have been. With nobody fixed that is the run itself, to rounding.
    """
    given = operations(begun, ready)
    begins, readies = [begun[0]], []
    for took, sending in zip(fix(given.computing, fixed), given.sending, strict=True):
        readies.append(begins[-1] + took)
        begins.append(readies[-1].max() + sending)
    return torch.stack(begins), torch.stack(readies)


def replay(given: Operations, needed: int, begun: Sequence[float] | None = None) -> list[float]:
    """When each update of N of N + b is made: the N-th gradient of its step is ready.

    given: operations by the version that a gradient was computed on; where a worker has none for
    a version that it takes part in now, it takes what is usual. needed: N. begun: when each worker
    begins, at 0 where nothing is said. Returns: seconds, one for each step.

    As in the rule of lesson 07, a late gradient is dropped, and its worker joins the step that is
    going on.
    """
    steps, workers = given.computing.shape
    took = torch.where(given.computing.isnan(), usual(given.computing), given.computing).tolist()
    sending = torch.where(given.sending.isnan(), usual(given.sending), given.sending).tolist()
    first = begun or [0.0] * workers
    busy = [(first[worker] + took[0][worker], worker, 0) for worker in range(workers)]
    heapq.heapify(busy)
    held: list[int] = []
    updates: list[float] = []
    while len(updates) < steps:
        now, worker, version = heapq.heappop(busy)
        going_on = len(updates)
        held.append(worker)
        if version < going_on:
            released = [held.pop()]
        elif len(held) == needed:
            released, held = held, []
            updates.append(now)
        else:
            continue
        step = len(updates)
        if step < steps:
            for each in released:
                again = now + sending[version][each] + took[step][each]
                heapq.heappush(busy, (again, each, step))
    return updates


def seconds_of(updates: Sequence[float], given: Operations) -> float:
    """From the start to the last worker's being through with the last update."""
    left = given.sending[-1].nan_to_num(-math.inf).max().item()
    return updates[-1] + left
