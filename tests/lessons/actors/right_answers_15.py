"""Right answers of lesson 15 in another style than the course's own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

import helpers
from helpers.lessons.actors.algorithms.losses import Losses

RIGHT: list[tuple[str, Callable[..., Any]]] = []  # each section adds its own


# --- 15.1: what a step was worth ------------------------------------------------------------------


def returns_by_recursion(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
    """The return of the first step in front of the others'."""
    if not len(rewards):
        return rewards.clone()
    later = returns_by_recursion(rewards[1:], discounts[1:], bootstrap)
    after = later[0] if len(later) else bootstrap
    return torch.cat([(rewards[0] + discounts[0] * after)[None], later])


def returns_in_a_list(rewards: Any, discounts: Any, bootstrap: Any) -> Any:
    """A list that is turned round; float32 on the way."""
    found = [bootstrap.float()]
    for reward, discount in zip(rewards.flip(0), discounts.flip(0), strict=True):
        found.append(reward.float() + discount.float() * found[-1])
    return torch.stack(found[:0:-1])


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


RIGHT += [
    ("15.1", returns_by_recursion),
    ("15.1", returns_in_a_list),
    ("15.1", returns_by_products),
]


# --- 15.2: three losses ---------------------------------------------------------------------------


def losses_by_distribution(
    logits: Any, values: Any, actions: Any, targets: Any, advantages: Any
) -> Any:
    """By torch's own distribution, which bars actions by a very small number."""
    policy = torch.distributions.Categorical(logits=logits.clamp(min=-1e30))
    return (
        -(policy.log_prob(actions) * advantages.detach()).mean(),
        torch.nn.functional.mse_loss(values, targets.detach()),
        policy.entropy().mean(),
    )


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


RIGHT += [("15.2", losses_by_distribution), ("15.2", losses_by_cross_entropy)]


# --- 15.3: who runs? ------------------------------------------------------------------------------


def starts_by_a_gate(start_all: Any) -> None:
    """Real threads behind a gate, which opens when the first is waited for."""
    gate, marks = threading.Event(), list[str]()

    class Gated(threading.Thread):
        def run(self) -> None:
            gate.wait()
            super().run()

        def join(self, timeout: float | None = None) -> None:
            gate.set()
            super().join(timeout)

    start_all([lambda mark=mark: marks.append(mark) for mark in "abcd"], Gated)
    assert sorted(marks) == list("abcd")


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


def starts_by_turns(start_all: Any) -> None:
    """Waits in `start` itself for no one: all begin together when the last is asked to end."""
    threads: list[Any] = []
    ran: list[str] = []

    class Waiting(threading.Thread):
        def start(self) -> None:
            threads.append(self)

        def join(self, timeout: float | None = None) -> None:
            while threads:
                threading.Thread.start(threads.pop())
            while self.ident is None:
                pass
            super().join(timeout)

    start_all([lambda n=n: ran.append(n) for n in ("first", "second", "third")], Waiting)
    for name in ("first", "second", "third"):
        assert ran.count(name) == 1, name


RIGHT += [
    ("15.3", starts_by_a_gate),
    ("15.3", starts_without_threads),
    ("15.3", starts_by_turns),
]


# --- 15.4: lost steps -----------------------------------------------------------------------------


def counts_in_several_runs(count: Any) -> None:
    """Two, three and five ranks, all in step."""
    for ranks, steps in ((2, 6), (3, 2), (5, 3)):
        seconds = [[0.5] * steps for _ in range(ranks)]
        for counted in helpers.run(count, seconds, ranks=ranks, engine="virtual", show=False):
            assert counted == ranks * steps


def counts_through_a_lambda(count: Any) -> None:
    """Asks the first rank alone, and raises by itself."""
    seconds = ((2.0, 2.0, 2.0), (2.0, 4.0), (2.0, 2.0, 2.0))
    counted = helpers.run(lambda comm: count(comm, seconds), ranks=3, engine="virtual", show=False)
    if counted[0] != sum(map(len, seconds)):
        raise ValueError("Steps were lost.")


RIGHT += [("15.4", counts_in_several_runs), ("15.4", counts_through_a_lambda)]


# --- 15.5: an argument that nobody heard ----------------------------------------------------------


def rollout_by_a_formula(rollout: Any) -> None:
    """Counts what is played, and has the closed form of what equal rewards are worth."""
    for steps in (0, 1, 7, 25):
        played: list[float] = []

        def play(played: list[float] = played) -> float:
            played.append(1.0)
            return 1.0

        rollout(play, steps=steps, discount=0.9)
        assert len(played) == steps
    for discount in (0.0, 0.5, 0.9, 0.99):
        found = rollout(lambda: 1.0, steps=4, discount=discount)
        np.testing.assert_allclose(found, (1 - discount**4) / (1 - discount), rtol=1e-4)
    assert abs(rollout(lambda: 1.0, steps=4, discount=1.0) - 4) < 1e-3


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


RIGHT += [("15.5", rollout_by_a_formula), ("15.5", rollout_by_a_table)]


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


def v_trace_with_detach(
    log_ratios: Any,
    rewards: Any,
    discounts: Any,
    values: Any,
    bootstrap: Any,
    rho: float = 1.0,
    c: float = 1.0,
) -> Any:
    """By the difference to the values, and detached at the end; a list. c is not above rho, so
    what is cut at rho may be cut again."""
    rhos = torch.clamp(torch.exp(log_ratios), max=rho)
    cs = torch.minimum(rhos, torch.full_like(rhos, c))
    above, nxt = torch.zeros_like(bootstrap), bootstrap
    targets: list[Any] = []
    gains: list[Any] = []
    for t in range(len(rewards) - 1, -1, -1):
        gains.insert(0, rhos[t] * (rewards[t] + discounts[t] * (nxt + above) - values[t]))
        surprise = rhos[t] * (rewards[t] + discounts[t] * nxt - values[t])
        above = surprise + discounts[t] * cs[t] * above
        nxt = values[t]
        targets.insert(0, nxt + above)
    return [torch.stack(targets).detach(), torch.stack(gains).detach()]


def v_trace_of_detached(
    log_ratios: Any,
    rewards: Any,
    discounts: Any,
    values: Any,
    bootstrap: Any,
    rho: float = 1.0,
    c: float = 1.0,
) -> Any:
    """Detaches what a network has a part in, and nothing else."""
    ratio, v, after = log_ratios.detach().exp(), values.detach(), bootstrap.detach()
    target, found = after, []
    for t in reversed(range(len(rewards))):
        weight, trace = ratio[t].clamp(max=rho), ratio[t].clamp(max=c)
        gain = weight * (rewards[t] + discounts[t] * target - v[t])
        surprise = weight * (rewards[t] + discounts[t] * after - v[t])
        target = v[t] + surprise + discounts[t] * trace * (target - after)
        after = v[t]
        found.append(torch.stack([target, gain]))
    both = torch.stack(found[::-1])
    return both[:, 0], both[:, 1]


RIGHT += [
    ("15.6", v_trace_of_detached),
    ("15.6", v_trace_as_the_paper_sums),
    ("15.6", v_trace_with_detach),
]
