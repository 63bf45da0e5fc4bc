"""Exercise 14.6, stage 3's layer: its weight is gathered to be used, and freed.

`sharded_linear(comm, x, own, shape) -> Tensor`: y = x Wᵀ where W, flat, lies in slices on the
ranks; own is chunk r of `chunk_bounds`. The claim: y, x's gradient, and as own's gradient this
rank's slice of the sum over the ranks, to 1e-10 in float64; forward gathers once and backward
gathers again and scatters once; nothing as large as W is there between them or after them, in
autograd or outside it; what was handed in stays as it is, and every message is waited for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.exercises.common import rng, self_hint
from helpers.exercises.compare import close, count, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_sharding import on_layer
from helpers.exercises.lesson_14 import gather_free_mistakes as look
from helpers.exercises.lesson_14 import gather_free_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_LARGE = 320


def cases(seed: int) -> list[Case]:
    """Seed 0: a 6 × 8 weight on 3 ranks, then 1, 2 and 5 ranks with slices of uneven lengths.

    Other seeds: also one so large that a grader sees from outside whether it is kept.
    """
    random, made = rng(seed, "14.6"), []
    settings: list[tuple[int, ...]] = [(3, 6, 8, 2), (1, 3, 4, 2), (2, 5, 5, 3), (5, 7, 6, 1)]
    if seed:
        settings = [
            (n, *(int(s) for s in random.integers(4, 9, 2)), int(random.integers(1, 4)))
            for n in (3, 1, 2, 5, 4)
        ]
        settings.append((2, _LARGE, _LARGE + int(random.integers(0, 9)), 1))
    for n, outputs, inputs, rows in settings:
        shapes = [(outputs, inputs), (n, rows, inputs), (n, rows, outputs)]
        weight, xs, factors = (random.standard_normal(shape) for shape in shapes)
        if outputs >= _LARGE:  # whole numbers have the same sum in any order
            weight, xs, factors = (np.round(4 * each) for each in (weight, xs, factors))
        bounds = [(r * weight.size // n, (r + 1) * weight.size // n) for r in range(n)]
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


def claim(case: Case, seen: Observation) -> str | None:
    """Right values and gradients; gathered twice, scattered once, and nothing whole kept."""
    facts = case.facts
    for rank, value in enumerate(seen.values):
        where = f"{case.name}, rank {rank}"
        if not close(value["out"], facts["out"][rank], look.TOLERANCE):
            return f"{where} {look.not_the_product(case, rank, value['out'])}."
        if not close(value["x"], facts["x"][rank], look.TOLERANCE):
            return f"{where}'s gradient of x is not the output's gradient times the weight."
        a, b = facts["bounds"][rank]
        if not close(value["own"], facts["sum"][a:b], look.TOLERANCE):
            return f"{where}'s gradient of `own` is not its slice of the sum over the ranks."
    n, forward, backward = case.ranks, look.phase(seen, "forward"), look.phase(seen, "backward")
    if forward > look.one(case) or backward > 2 * look.one(case):
        return (
            f"{case.name}, the ranks sent {forward} B in forward and {backward} B in backward; "
            f"{look.one(case)} B and {2 * look.one(case)} B are enough."
        )
    least = (n - 1) * facts["elements"] * 8
    if backward < 2 * least or any(
        (v["saved"] or 0) >= facts["elements"] + v["out"].size for v in seen.values if n > 1
    ):
        hint = look.kept(case, seen)
        return hint or f"{case.name}, the weight was kept from forward to backward."
    for held in (look.kept, look.kept_after, look.wrote, not_waited):
        if said := held(case, seen):
            return said
    return None


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
    stars=3,
    minutes=25,
    points=5,
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
        Mistake("slices of another length", look.other_slices, unfinished=True),
        Mistake("forward gathers nothing", look.own_part_only),
        Mistake("outside autograd", look.no_graph),
        Mistake("reads the row the other way", look.other_view),
        Mistake("every slice at the start", look.at_the_start),
        Mistake("no gradient of x", look.x_lost),
        Mistake("gathers by a sum", look.gathered_by_a_sum),
        Mistake("sums the gradient of x", look.sums_x),
        Mistake("own gradient only", look.not_scattered),
        Mistake("averages", look.averaged),
        Mistake("the gradient of the transpose", look.turned),
        Mistake("all-reduces the gradient", look.all_reduced),
        Mistake("changes what it is given", look.wrote),
        Mistake("messages not waited for", not_waited),
        Mistake("keeps the weight", look.kept),
        Mistake("keeps the gradient", look.kept_after),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("saves the weight", wrong.saves_the_weight, hint="it is among them. Save x"),
        WrongAnswer("keeps it in ctx", wrong.keeps_in_ctx, hint="gradients alone take"),
        WrongAnswer("gathers and keeps", wrong.gathers_and_keeps, hint="yet never freed"),
        WrongAnswer("own gradient", wrong.own_gradient, hint="this rank's alone"),
        WrongAnswer("averages", wrong.averages, hint="times too small"),
        WrongAnswer("all-reduce", wrong.by_all_reduce, hint="cut its slice out of it"),
        WrongAnswer("plain", wrong.plain, hint="does not come to `own`"),
        WrongAnswer("no gather", wrong.no_gather, hint="forward sent nothing"),
        WrongAnswer("holds it, and gathers", wrong.holds_and_gathers, hint="such as `ctx`, a list"),
        WrongAnswer("a view", wrong.view_of_the_gradient, hint="is a view of a tensor with"),
        WrongAnswer("whole gradient", wrong.whole_gradient, hint="a slice of them"),
        WrongAnswer("keeps in backward", wrong.keeps_in_backward, hint="was put where it stays"),
        WrongAnswer("gathers by a sum", wrong.gathers_by_a_sum, hint="go round twice"),
        WrongAnswer("sums x's", wrong.sums_x, hint="gradient of x was summed"),
        WrongAnswer("no x", wrong.no_x, hint="x has no gradient"),
        WrongAnswer("turned", wrong.turned, hint="that of Wᵀ"),
        WrongAnswer("other view", wrong.other_view, hint="read as (inputs, outputs)"),
        WrongAnswer("at the start", wrong.at_the_start, hint="not at the start"),
        WrongAnswer("scales x", wrong.scales_x, hint="wrote into x"),
        WrongAnswer("no wait", wrong.no_wait, hint="without waiting for"),
    ),
    figure=0,
)
