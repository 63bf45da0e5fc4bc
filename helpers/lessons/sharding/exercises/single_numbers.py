"""f and g of exercise 14.2 called alone, for single numbers in float32: each call gives what it
should, in the type of what went in, and the next call leaves it as it is."""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.compare import close, describe
from helpers.checks.spec import Case, Observation

_WORDS = (
    "f({})",
    "f's backward for the gradient {}",
    "g({})",
    "g's backward for the gradient {}",
    "the way back through x + g(f(x)) for the gradient {}",
)
Made = list[list[tuple[Tensor, Tensor]]]


def pairs(random: np.random.Generator, ranks: int) -> list[np.ndarray]:
    """For each rank and each of two calls a number and its gradient."""
    return list(random.integers(1, 9, (ranks, 2, 2)).astype(np.float32))


def call_alone(f: Any, g: Any, pairs: Tensor) -> list[Made]:
    """What f and g give for numbers that need no gradient, then for such that do: f's calls, its
    backward's, g's, its backward's, and the way back through x + g(f(x)), where one is handed the
    gradient that the other has.

    Of each call what came, and what that is after the next call. Where that has changed they are
    asked no further: autograd refuses what it finds then in ways that say little.
    """
    made = [_call(f, g, pairs, needs=False)]
    if all(torch.equal(*both) for calls in made[0] for both in calls):
        made.append(_call(f, g, pairs, needs=True))
    return made


def _call(f: Any, g: Any, pairs: Tensor, needs: bool) -> Made:
    made: Made = []
    for function in (f, g):
        numbers = [pair[0].clone().requires_grad_(needs) for pair in pairs]
        outs = _kept(partial(function, number) for number in numbers)
        ways = zip(outs, numbers, pairs[:, 1], strict=True) if needs else ()
        made += [outs, _kept(partial(_back, out, *way) for (_, out), *way in ways)]
    leaves = [pair[0].clone().requires_grad_() for pair in pairs] if needs else []
    given = zip(leaves, pairs[:, 1], strict=needs)
    return [*made, _kept(partial(_past, f, g, x, above) for x, above in given)]


def _kept(calls: Any) -> list[tuple[Tensor, Tensor]]:
    """What calls give, one after the other: a copy made at once, and the thing itself."""
    return [(now.detach().clone(), now) for now in (call() for call in calls)]


def _back(out: Tensor, leaf: Tensor, above: Tensor) -> Tensor:
    """The gradient of a leaf; no number where there is no way back."""
    if not out.requires_grad:
        return torch.full_like(leaf, torch.nan)
    above = above.to(out.dtype).clone()
    found: Any = torch.autograd.grad(out, leaf, above, allow_unused=True)[0]
    return torch.full_like(leaf, torch.nan) if found is None else found


def _past(f: Any, g: Any, x: Tensor, above: Tensor) -> Tensor:
    return _back(x + g(f(x)), x, above)


def not_alone(case: Case, seen: Observation) -> str | None:
    """The first number that is not right, or has another type, or has changed since."""
    every = np.stack([args[0] for args in case.args])  # rank, call, number and gradient
    sums = every.sum(0)
    for rank, value in enumerate(seen.values):
        own = every[rank]
        both = own[:, 1] + sums[:, 1]
        wants = own[:, 0], sums[:, 1], sums[:, 0], own[:, 1], both
        for needs, made in enumerate(value["out"]):
            for place, (calls, want) in enumerate(zip(made, wants, strict=True)):
                if len(calls) != (len(want) if needs or place in (0, 2) else 0):
                    return "f and g were not called as often as was asked."
                for call, (first, now) in enumerate(calls):
                    what = _WORDS[place].format(f"{own[call, int(place not in (0, 2))]:g}")
                    bare = "" if needs else ", no gradient needed,"
                    said = _wrong(first, now, want[call], bare)
                    if said:
                        return f"on rank {rank} {what}{said}"
        if len(value["out"]) != 2:
            return "f and g were not called as often as was asked."
    return None


def _wrong(first: Any, now: Any, want: Any, needs: str) -> str | None:
    if not close(first, want, 1e-6):
        return f"{needs} gave {describe(first)}, and {want:g} is right."
    if first.dtype != np.float32:
        return f" is {first.dtype}: what comes out has the type of what went in, float32 here."
    if not np.array_equal(first, now):
        return (
            f" gave {describe(first)}, which became {describe(now)} with the next call: give each "
            "call's result a tensor of its own."
        )
    return None
