"""Right answers of lesson 15 in another style than the course's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

import helpers
from helpers.lessons.actors.algorithms.losses import Losses

# --- 15.1: what a step was worth ------------------------------------------------------------------


def returns_by_products(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
    """Each return as a sum of rewards, by products of the discounts between."""
    steps, found = len(rewards), []
    for first in range(steps):
        total, factor = torch.zeros_like(bootstrap), torch.ones_like(bootstrap)
        for step in range(first, steps):
            total = total + factor * rewards[step]
            factor = factor * discounts[step]
        found.append(total + factor * bootstrap)
    return torch.stack(found)


# --- 15.2: three losses ---------------------------------------------------------------------------


def losses_by_cross_entropy(
    logits: Any, values: Any, actions: Any, targets: Any, advantages: Any
) -> Losses:
    """−log π(a) is a cross-entropy; barred actions are left out of the sum by indices."""
    flat, which = logits.reshape(-1, logits.shape[-1]), actions.reshape(-1)
    surprise = torch.nn.functional.cross_entropy(flat, which, reduction="none")
    rows, columns = torch.isfinite(flat).nonzero(as_tuple=True)
    logs = flat.log_softmax(-1)[rows, columns]
    with torch.no_grad():
        advantage, target = advantages.reshape(-1).clone(), targets.reshape(-1).clone()
    off = values.reshape(-1) - target
    return Losses(
        torch.dot(advantage, surprise) / len(which),
        torch.dot(off, off) / len(which),
        -torch.dot(logs.exp(), logs) / len(which),
    )


# --- 15.3: who runs? ------------------------------------------------------------------------------


def starts_without_threads(start_all: Any) -> None:
    """Objects that only look like threads; two workers; raises by itself."""
    often = [0, 0]

    class Late:
        def __init__(self, target: Any = None, args: Any = (), kwargs: Any = None, **_: Any):
            self.work = lambda: target(*args, **(kwargs or {}))
            self.daemon = False

        def start(self) -> None:
            pass

        def join(self, timeout: float | None = None) -> None:
            self.work()

    class Worker:
        def __init__(self, number: int) -> None:
            self.number = number

        def __call__(self) -> None:
            often[self.number] += 1

    start_all([Worker(0), Worker(1)], Late)
    if often != [1, 1]:
        raise RuntimeError(f"The workers ran so often: {often}.")


# --- 15.4: lost steps -----------------------------------------------------------------------------


def counts_in_several_runs(count: Any) -> None:
    """Two, three and five ranks, all in step."""
    for ranks, steps in ((2, 6), (3, 2), (5, 3)):
        seconds = [[0.5] * steps for _ in range(ranks)]
        for counted in helpers.run(count, seconds, ranks=ranks, engine="virtual", show=False):
            assert counted == ranks * steps


# --- 15.5: an argument that nobody heard ----------------------------------------------------------


def rollout_by_a_table(rollout: Any) -> None:
    """A few results worked out by hand."""
    table = {
        (3, 0.5): 1 + 0.5 * 2 + 0.25 * 4,
        (3, 0.0): 1,
        (0, 0.9): 0,
        (40, 1.0): 2**40 - 1,
        (2, 0.99): 1 + 0.99 * 2,
    }
    for (steps, discount), want in table.items():
        rewards = (2.0**step for step in range(100))
        found = rollout(lambda rewards=rewards: next(rewards), steps, discount)
        np.testing.assert_allclose(found, want, rtol=1e-4)


# --- 15.6: V-trace --------------------------------------------------------------------------------


class Pair(NamedTuple):
    """Targets and advantages by other names."""

    aims: Any
    gains: Any


def v_trace_as_the_paper_sums(
    log_ratios: Any,
    rewards: Any,
    discounts: Any,
    values: Any,
    bootstrap: Any,
    rho: float = 1.0,
    c: float = 1.0,
) -> Pair:
    """The sum over later surprises, with the products written out, in numpy."""
    logs, r, d, v, last = (
        x.detach().numpy() for x in (log_ratios, rewards, discounts, values, bootstrap)
    )
    weights, traces = np.minimum(rho, np.exp(logs)), np.minimum(c, np.exp(logs))
    later = np.concatenate([v[1:], last[None]])
    surprises = weights * (r + d * later - v)
    targets = v.copy()
    for first in range(len(r)):
        factor = np.ones_like(last)
        for step in range(first, len(r)):
            targets[first] += factor * surprises[step]
            factor = factor * d[step] * traces[step]
    after = np.concatenate([targets[1:], last[None]])
    gains = weights * (r + d * after - v)
    return Pair(torch.from_numpy(targets), torch.from_numpy(gains))


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("15.1", returns_by_products),
    ("15.2", losses_by_cross_entropy),
    ("15.3", starts_without_threads),
    ("15.4", counts_in_several_runs),
    ("15.5", rollout_by_a_table),
    ("15.6", v_trace_as_the_paper_sums),
]
