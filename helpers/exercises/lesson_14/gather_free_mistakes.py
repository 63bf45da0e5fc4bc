"""The mistakes of exercise 14.6, by values, by what was sent, and by what was held."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.exercises.compare import close, count, describe, listing, times
from helpers.exercises.spec import Case, Observation

TOLERANCE = 1e-10


def one(case: Case) -> int:
    """Bytes of one all-gather or reduce-scatter over all ranks, with room for padding."""
    n = case.ranks
    return (n - 1) * n * -(-case.facts["elements"] // n) * 8


def slices(case: Case, seen: Observation, want: Any, factor: float = 1.0) -> bool:
    """Whether every rank's gradient of its slice is that slice of `want`, times a factor."""
    return all(
        close(v["own"], want[a:b] * factor, TOLERANCE)
        for v, (a, b) in zip(seen.values, case.facts["bounds"], strict=True)
    )


def phase(seen: Observation, name: str) -> int:
    """Bytes sent in "forward" or "backward", over all ranks."""
    return sum(v[name] for v in seen.values)


def outputs(case: Case, seen: Observation, weight: Any = None) -> bool:
    """Whether every rank's output is x times the weight, or times this one."""
    return not seen.trouble and all(
        close(v["out"], want if weight is None else args[0] @ weight, TOLERANCE)
        for v, want, args in zip(seen.values, case.facts["out"], case.args, strict=True)
    )


def not_the_product(case: Case, rank: int, out: Any) -> str:
    """What a rank returned, in words that do not take wrong values for a wrong shape."""
    want = case.facts["out"][rank]
    if type(out) is np.ndarray and out.shape == want.shape:
        return (
            f"returned numbers of the right shape, {want.shape}, but other values than x Wᵀ. Look "
            "at where `own` goes: into chunk r of the flat weight, with the bounds of "
            "`chunk_bounds`, and then `.view(shape)`"
        )
    return f"returned {describe(out)}; x Wᵀ has the shape {want.shape}"


def kept(case: Case, seen: Observation) -> str | None:
    """The whole weight outlives forward, known to autograd or not."""
    n, elements = case.ranks, case.facts["elements"]
    if n == 1 or not slices(case, seen, case.facts["sum"]):
        return None
    again = phase(seen, "backward") >= 2 * (n - 1) * elements * 8
    saved, held = (max(v[key] or 0 for v in seen.values) for key in ("saved", "held"))
    if saved >= elements + seen.values[0]["out"].size:
        then = "" if not again else " It is gathered again in backward, and yet never freed."
        return (
            f"{case.name}, {saved} numbers are saved between forward and backward, and the whole "
            f"weight has {elements}: it is among them.{then} Save x and `own` only."
        )
    if not again:
        return (
            f"{case.name}, backward sent {phase(seen, 'backward')} B, which the gradients alone "
            "take: the whole weight was kept from forward, outside what autograd knows of. Let go "
            "of it, and gather again."
        )
    if held >= elements:
        return (
            f"{case.name}, backward gathers again, but a tensor with all {elements} numbers of the "
            "weight was still in memory after forward: something holds on to it, such as `ctx`, a "
            "list, or a variable that `backward` or another inner function refers to. Gather "
            "inside forward and backward, into a local variable that ends with them."
        )
    return None


def kept_after(case: Case, seen: Observation) -> str | None:
    """Something whole outlives backward."""
    elements = case.facts["elements"]
    if case.ranks == 1 or not slices(case, seen, case.facts["sum"]):
        return None
    row, after = (max(v[key] or 0 for v in seen.values) for key in ("row", "after"))
    if row >= elements:
        rank = next(r for r, v in enumerate(seen.values) if v["row"] >= elements)
        return (
            f"{case.name}, rank {rank}'s gradient of `own` has {seen.values[rank]['own'].size} "
            f"numbers and is a view of a tensor with {row}, so the unsharded gradient stays in "
            "memory as long as the slice does: return `reduce_scatter_ring(…).clone()`."
        )
    if after >= elements:
        return (
            f"{case.name}, the numbers are right, but after backward a tensor with {after} numbers "
            "is still in memory: the whole weight, or its whole gradient, was put where it stays."
        )
    return None


def not_scattered(case: Case, seen: Observation) -> str | None:
    """This rank's own gradient."""
    if case.ranks == 1:
        return None
    for value, local, (a, b) in zip(
        seen.values, case.facts["locals"], case.facts["bounds"], strict=True
    ):
        if not close(value["own"], local[a:b], TOLERANCE):
            return None
    return (
        f"{case.name}, the gradient of `own` is this rank's alone: the other ranks' rows used the "
        "same weight. Reduce-scatter the gradient of the whole weight."
    )


def averaged(case: Case, seen: Observation) -> str | None:
    """Divided by N."""
    n = case.ranks
    if n == 1 or not slices(case, seen, case.facts["sum"], 1 / n):
        return None
    return (
        f"{case.name}, the gradient of `own` is {n} times too small: here the ranks' gradients are "
        "summed, and not divided; whether a loss is a sum or a mean is for the loss to say."
    )


def turned(case: Case, seen: Observation) -> str | None:
    """The gradient of Wᵀ."""
    shape = case.args[0][2]
    want = case.facts["sum"].reshape(shape).T.ravel()
    if not slices(case, seen, want):
        return None
    return (
        f"{case.name}, the gradient of `own` is a slice of that of Wᵀ: W is (outputs, inputs), so "
        "its gradient is `gradient.T @ x`, and then in a row."
    )


def gathered_by_a_sum(case: Case, seen: Observation) -> str | None:
    """An all-reduce of the slice among zeros."""
    sent, enough = phase(seen, "forward"), one(case)
    if sent <= enough or not outputs(case, seen):
        return None
    return (
        f"{case.name}, forward sent {times(sent, enough)} the bytes of an all-gather ({sent} B "
        f"instead of {enough} B): slices that are put together by a sum with zeros go round twice. "
        "`all_gather_ring` passes each slice on once."
    )


def sums_x(case: Case, seen: Observation) -> str | None:
    """x's gradient summed over the ranks."""
    total = sum(case.facts["x"])
    if case.ranks == 1 or not all(close(v["x"], total, TOLERANCE) for v in seen.values):
        return None
    return (
        f"{case.name}, the gradient of x was summed over the ranks: each rank has rows of its own "
        "here, so x's gradient is `gradient @ W` and nothing is sent for it."
    )


def x_lost(case: Case, seen: Observation) -> str | None:
    """No gradient of x."""
    if seen.trouble or not all(v["reached"] and v["own"] is not None for v in seen.values):
        return None
    if not any(v["x"] is None for v in seen.values):
        return None
    return (
        f"{case.name}, x has no gradient: backward returns one for each argument of forward, in "
        "the same order, and the layer before needs x's, `gradient @ W`."
    )


def all_reduced(case: Case, seen: Observation) -> str | None:
    """The whole gradient summed on every rank."""
    backward = phase(seen, "backward")
    if backward <= 2 * one(case) or not slices(case, seen, case.facts["sum"]):
        return None
    return (
        f"{case.name}, backward sent {times(backward, 2 * one(case))} the bytes it had to: every "
        "rank got the whole summed gradient and cut its slice out of it. A reduce-scatter leaves "
        "the slice, with half of the bytes."
    )


def other_view(case: Case, seen: Observation) -> str | None:
    """The flat weight read as (inputs, outputs)."""
    rows, columns = case.args[0][2]
    flat = np.concatenate([args[1] for args in case.args])
    if not outputs(case, seen, flat.reshape(columns, rows)):
        return None
    return (
        f"{case.name}, the flat weight was read as (inputs, outputs): it is `W.flatten()` of an "
        f"(outputs, inputs) matrix, so `.view(shape)` with shape ({rows}, {columns}), and x Wᵀ."
    )


def at_the_start(case: Case, seen: Observation) -> str | None:
    """`own` put at the start of the row, on every rank."""
    inputs = case.args[0][2][1]
    known = case.facts["bounds"][0][1] // inputs  # outputs that rank 0's chunk gives alone
    if case.ranks == 1 or known == 0 or seen.trouble:
        return None
    for value, want in zip(seen.values, case.facts["out"], strict=True):
        if close(value["out"], want, TOLERANCE):
            return None
        if not close(value["out"][:, :known], want[:, :known], TOLERANCE):
            return None
    return (
        f"{case.name}, {count(known, 'output')} that rank 0's chunk gives {_is(known)} right and "
        "the others are not: `own` has to lie in chunk r before the all-gather, "
        "`whole[start:stop] = own`, and not at the start."
    )


def _is(amount: int) -> str:
    return "is" if amount == 1 else "are"


def other_slices(case: Case, seen: Observation) -> str | None:
    """Slices of another length."""
    if seen.trouble != "failed" or not any(
        words in seen.text for words in ("must match", "invalid gradient", "expanded size")
    ):
        return None
    elements = case.facts["elements"]
    whole = (f"got [{elements}]", f"got {list(case.args[0][2])}")
    if "invalid gradient" not in seen.text:
        sizes = listing(b - a for a, b in case.facts["bounds"])
        return (
            f"{case.name}, two slices differ in length ({seen.text.splitlines()[0].rstrip('.')}). "
            f"`chunk_bounds` gives the ranks {sizes} numbers, and `own` is as long."
        )
    if any(words in seen.text for words in whole) and case.ranks > 1:
        return (
            f"{case.name}, backward returned a gradient for all {elements} numbers of the weight, "
            "and `own` is a slice of them: reduce-scatter it, and return this rank's chunk."
        )
    return (
        f"{case.name}, backward returned a gradient of another shape than its argument has "
        f"({seen.text.splitlines()[0].rstrip('.')}): it returns one for each argument of forward, "
        "in their order, and None for what needs none."
    )


def no_graph(case: Case, seen: Observation) -> str | None:
    """Autograd does not come to the slice."""
    if seen.trouble or all(v["reached"] and v["own"] is not None for v in seen.values):
        return None
    if not outputs(case, seen):
        return None
    return (
        f"{case.name}, forward is right, but backward does not come to `own`: messages are outside "
        "autograd, which sees a new tensor without a past. Write a `torch.autograd.Function` and "
        "call its `apply`."
    )


def own_part_only(case: Case, seen: Observation) -> str | None:
    """No message in forward."""
    if case.ranks == 1 or seen.trouble or phase(seen, "forward"):
        return None
    return (
        f"{case.name}, forward sent nothing, so a rank cannot know the others' slices of the "
        "weight: all-gather them first."
    )


def wrote(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    if seen.trouble:
        return None
    for rank, value in enumerate(seen.values):
        what = {"own": "`own`", "x": "x", "gradient": "the gradient that backward was given"}.get(
            value["changed"] if type(value["changed"]) is str else ""
        )
        if what:
            return (
                f"{case.name}, rank {rank} wrote into {what}, which others use too: gather and "
                "compute into tensors of your own."
            )
    return None
