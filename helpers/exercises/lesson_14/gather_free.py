"""Exercise 14.6, stage 3's layer: its weight is gathered to be used, and freed.

`sharded_linear(comm, x, own, shape) -> Tensor`: y = x Wᵀ where W, flat, lies in slices on the
ranks; own is chunk r of `chunk_bounds`. The claim: y, x's gradient, and as own's gradient this
rank's slice of the sum over the ranks, to 1e-10 in float64; forward gathers once and backward
gathers again and scatters once; autograd keeps x and the slice, not W.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.common import rng, self_hint
from helpers.exercises.compare import close, count, describe, times, worlds
from helpers.exercises.drives_sharding import on_layer
from helpers.exercises.lesson_14 import gather_free_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-10


def cases(seed: int) -> list[Case]:
    """Seed 0: a 6 × 8 weight on 3 ranks, then 1, 2 and 5 ranks with slices of uneven lengths."""
    random, made = rng(seed, "14.6"), []
    settings: list[tuple[int, ...]] = [(3, 6, 8, 2), (1, 3, 4, 2), (2, 5, 5, 3), (5, 7, 6, 1)]
    if seed:
        settings = [
            (n, *(int(s) for s in random.integers(4, 9, 2)), int(random.integers(1, 4)))
            for n in (3, 1, 2, 5, 4)
        ]
    for n, outputs, inputs, rows in settings:
        weight = random.standard_normal((outputs, inputs))
        bounds = [(r * weight.size // n, (r + 1) * weight.size // n) for r in range(n)]
        xs = random.standard_normal((n, rows, inputs))
        factors = random.standard_normal((n, rows, outputs))
        args = tuple(
            (xs[r], weight.ravel()[a:b], (outputs, inputs), factors[r])
            for r, (a, b) in enumerate(bounds)
        )
        locals_ = [factors[r].T @ xs[r] for r in range(n)]
        facts = {
            "out": [x @ weight.T for x in xs],
            "x": [factor @ weight for factor in factors],
            "locals": [g.ravel() for g in locals_],
            "sum": sum(locals_).ravel(),
            "bounds": bounds,
            "elements": weight.size,
        }
        name = f"On {count(n, 'rank')} with a {outputs} × {inputs} weight"
        made.append(Case(name, args, n, facts=facts))
    return made


def _one(case: Case) -> int:
    """Bytes of one all-gather or reduce-scatter over all ranks, with room for padding."""
    n = case.ranks
    return (n - 1) * n * -(-case.facts["elements"] // n) * 8


def _slices(case: Case, seen: Observation, want: Any, factor: float = 1.0) -> bool:
    """Whether every rank's gradient of its slice is that slice of `want`, times a factor."""
    return all(
        close(v["own"], want[a:b] * factor, _TOLERANCE)
        for v, (a, b) in zip(seen.values, case.facts["bounds"], strict=True)
    )


def _phase(seen: Observation, phase: str) -> int:
    return sum(v[phase] for v in seen.values)


def claim(case: Case, seen: Observation) -> str | None:
    """Right values and gradients; gathered twice, scattered once, and nothing whole kept."""
    facts = case.facts
    for rank, value in enumerate(seen.values):
        where = f"{case.name}, rank {rank}"
        if not close(value["out"], facts["out"][rank], _TOLERANCE):
            return f"{where} returned {describe(value['out'])}, which is not x times the weight."
        if not close(value["x"], facts["x"][rank], _TOLERANCE):
            return f"{where}'s gradient of x is not the output's gradient times the weight."
        a, b = facts["bounds"][rank]
        if not close(value["own"], facts["sum"][a:b], _TOLERANCE):
            return f"{where}'s gradient of `own` is not its slice of the sum over the ranks."
        if value["changed"]:
            return f"{where}'s `own` was changed: gather into a tensor of its own."
    n, forward, backward = case.ranks, _phase(seen, "forward"), _phase(seen, "backward")
    if forward > _one(case) or backward > 2 * _one(case):
        return (
            f"{case.name}, the ranks sent {forward} B in forward and {backward} B in backward; "
            f"{_one(case)} B and {2 * _one(case)} B are enough."
        )
    least = (n - 1) * facts["elements"] * 8
    if backward < 2 * least or any(
        v["saved"] >= facts["elements"] + v["out"].size for v in seen.values if n > 1
    ):
        return _kept(case, seen) or f"{case.name}, the weight was kept from forward to backward."
    return None


def _kept(case: Case, seen: Observation) -> str | None:
    n, elements = case.ranks, case.facts["elements"]
    if n == 1 or not _slices(case, seen, case.facts["sum"]):
        return None
    again = _phase(seen, "backward") >= 2 * (n - 1) * elements * 8
    saved = max(v["saved"] for v in seen.values)
    if saved < elements + seen.values[0]["out"].size and not again:
        return (
            f"{case.name}, backward sent {_phase(seen, 'backward')} B, which the gradients alone "
            "take: the whole weight was kept from forward, outside what autograd knows of. Let go "
            "of it, and gather again."
        )
    if saved >= elements + seen.values[0]["out"].size:
        then = "" if not again else " It is gathered again in backward, and yet never freed."
        return (
            f"{case.name}, {saved} numbers are saved between forward and backward, and the whole "
            f"weight has {elements}: it is among them.{then} Save x and `own` only."
        )
    return None


def _not_scattered(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1:
        return None
    for value, local, (a, b) in zip(
        seen.values, case.facts["locals"], case.facts["bounds"], strict=True
    ):
        if not close(value["own"], local[a:b], _TOLERANCE):
            return None
    return (
        f"{case.name}, the gradient of `own` is this rank's alone: the other ranks' rows used the "
        "same weight. Reduce-scatter the gradient of the whole weight."
    )


def _averaged(case: Case, seen: Observation) -> str | None:
    n = case.ranks
    if n == 1 or not _slices(case, seen, case.facts["sum"], 1 / n):
        return None
    return (
        f"{case.name}, the gradient of `own` is {n} times too small: here the ranks' gradients are "
        "summed; what they count is for the loss to say."
    )


def _all_reduced(case: Case, seen: Observation) -> str | None:
    backward = _phase(seen, "backward")
    if backward <= 2 * _one(case) or not _slices(case, seen, case.facts["sum"]):
        return None
    return (
        f"{case.name}, backward sent {times(backward, 2 * _one(case))} the bytes it had to: every "
        "rank got the whole summed gradient and cut its slice out of it. A reduce-scatter leaves "
        "the slice, with half of the bytes."
    )


def _no_graph(case: Case, seen: Observation) -> str | None:
    if seen.trouble or all(v["reached"] and v["own"] is not None for v in seen.values):
        return None
    if not all(
        close(v["out"], w, _TOLERANCE) for v, w in zip(seen.values, case.facts["out"], strict=True)
    ):
        return None
    return (
        f"{case.name}, forward is right, but backward does not come to `own`: messages are outside "
        "autograd, which sees a new tensor without a past. Write a `torch.autograd.Function` and "
        "call its `apply`."
    )


def _own_part_only(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or seen.trouble or _phase(seen, "forward"):
        return None
    return (
        f"{case.name}, forward sent nothing, so a rank cannot know the others' slices of the "
        "weight: all-gather them first."
    )


def _to_itself(case: Case, seen: Observation) -> str | None:
    return self_hint(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    saved, elements = seen[0].values[0]["saved"], cases[0].facts["elements"]
    return (
        f"Passed on {worlds(cases)}: gathered in forward, gathered again and scattered in backward "
        f"(3 Ψ), and between them autograd keeps {saved} numbers where the weight has {elements}."
    )


EXERCISE = Exercise(
    number="14.6",
    title="Gather, use, free",
    stars=2,
    minutes=20,
    points=4,
    function="sharded_linear",
    asks=(
        "forward gathers the weight, multiplies and keeps x and the slice only; backward gathers "
        "it again, and reduce-scatters the weight's gradient into this rank's slice of the sum."
    ),
    cases=cases,
    drive=on_layer,
    claim=claim,
    mistakes=(
        Mistake("sends to itself", _to_itself, unfinished=True),
        Mistake("forward gathers nothing", _own_part_only),
        Mistake("outside autograd", _no_graph),
        Mistake("own gradient only", _not_scattered),
        Mistake("averages", _averaged),
        Mistake("all-reduces the gradient", _all_reduced),
        Mistake("keeps the weight", _kept),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("saves the weight", wrong.saves_the_weight, "it is among them. Save x"),
        WrongAnswer("keeps it in ctx", wrong.keeps_in_ctx, "gradients alone take"),
        WrongAnswer("gathers and keeps", wrong.gathers_and_keeps, "yet never freed"),
        WrongAnswer("own gradient", wrong.own_gradient, "this rank's alone"),
        WrongAnswer("averages", wrong.averages, "times too small"),
        WrongAnswer("all-reduce", wrong.by_all_reduce, "cut its slice out of it"),
        WrongAnswer("plain", wrong.plain, "does not come to `own`"),
        WrongAnswer("no gather", wrong.no_gather, "forward sent nothing"),
    ),
    figure=0,
)
