"""What outlives forward and backward of exercise 14.6's layer where the numbers are right."""

from __future__ import annotations

from collections.abc import Iterator

from helpers.exercises.compare import all_close
from helpers.exercises.spec import Case, Observation

TOLERANCE = 1e-10


def phase(seen: Observation, name: str) -> int:
    """Bytes sent in "forward" or "backward", over all ranks."""
    return sum(v[name] for v in seen.values)


def _right_slices(case: Case, seen: Observation) -> bool:
    """Whether the outputs are right, and every rank's gradient is its slice of the sum."""
    slices = [case.facts["sum"][a:b] for a, b in case.facts["bounds"]]
    return all_close(
        [v[key] for key in ("out", "own") for v in seen.values],
        [*case.facts["out"], *slices],
        TOLERANCE,
    )


def kept(case: Case, seen: Observation) -> Iterator[str]:
    """The whole weight outlives forward, known to autograd or not."""
    n, elements = case.ranks, case.facts["elements"]
    if n == 1 or not _right_slices(case, seen):
        return
    again = phase(seen, "backward") >= 2 * (n - 1) * elements * 8
    saved, held = (max(v[key] or 0 for v in seen.values) for key in ("saved", "held"))
    if saved >= elements + seen.values[0]["out"].size:
        then = "" if not again else " It is gathered again in backward, and yet never freed."
        yield (
            f"{saved} numbers are saved between forward and backward, and the whole weight has "
            f"{elements}: it is among them.{then} Save x and `own` only."
        )
    if not again:
        yield (
            f"backward sent {phase(seen, 'backward')} B, which the gradients alone take: the whole "
            "weight was kept from forward, outside what autograd knows of. Let go of it, and "
            "gather again."
        )
    if held >= elements:
        yield (
            f"backward gathers again, but a tensor with all {elements} numbers of the weight was "
            "still in memory after forward: something holds on to it, such as `ctx`, a list, or a "
            "variable that `backward` or another inner function refers to. Gather inside forward "
            "and backward, into a local variable that ends with them."
        )


def kept_after(case: Case, seen: Observation) -> Iterator[str]:
    """Something whole outlives backward."""
    elements = case.facts["elements"]
    if case.ranks == 1 or not _right_slices(case, seen):
        return
    for rank, value in enumerate(seen.values):
        if (value["row"] or 0) >= elements:
            row = max(v["row"] or 0 for v in seen.values)
            yield (
                f"rank {rank}'s gradient of `own` has {value['own'].size} numbers and is a view of "
                f"a tensor with {row}, so the unsharded gradient stays in memory as long as the "
                "slice does: return `reduce_scatter_ring(…).clone()`."
            )
    after = max(value["after"] or 0 for value in seen.values)
    if after >= elements:
        yield (
            f"the numbers are right, but after backward a tensor with {after} numbers is still in "
            "memory: the whole weight, or its whole gradient, was put where it stays."
        )
