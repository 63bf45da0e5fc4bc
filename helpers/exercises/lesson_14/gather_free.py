"""Exercise 14.6, stage 3's layer: its weight is gathered to be used, and freed.

`sharded_linear(comm, x, own, shape) -> Tensor`: y = x Wᵀ where W, flat, lies in slices on the
ranks; own is chunk r of `chunk_bounds`. The claim: y, x's gradient, and as own's gradient this
rank's slice of the sum over the ranks, to 1e-10 in float64; forward gathers once and backward
gathers again and scatters once; nothing as large as W is there between them or after them, in
autograd or outside it; what was handed in stays as it is, and every message is waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng, self_hint
from helpers.exercises.compare import close, count, describe, is_array, rounded, times, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_sharding import on_layer
from helpers.exercises.lesson_14 import gather_free_wrong as wrong
from helpers.exercises.lesson_14.gather_free_wrong import phase, right
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

TOLERANCE = 1e-10
LARGE = 320
WRITTEN = {"own": "`own`", "x": "x", "gradient": "the gradient that backward was given"}


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
        settings.append((2, LARGE, LARGE + int(random.integers(0, 9)), 1))
    for n, outputs, inputs, rows in settings:
        shapes = [(outputs, inputs), (n, rows, inputs), (n, rows, outputs)]
        weight, xs, factors = (random.standard_normal(shape) for shape in shapes)
        if outputs >= LARGE:  # whole numbers have the same sum in any order
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


def _not_the_product(want: Any, out: Any) -> str:
    """What a rank returned, in words that do not take wrong values for a wrong shape."""
    if not is_array(out, want.shape):
        return f"{describe(out)}; x Wᵀ has the shape {want.shape}"
    where = (
        ". Look at where `own` goes: into chunk r of the flat weight, with the bounds of "
        "`chunk_bounds`, and then `.view(shape)`"
    )
    why = rounded([out], [want]) or where
    return f"numbers of the right shape, {want.shape}, but other values than x Wᵀ{why}"


def _one(case: Case) -> int:
    """Bytes of one all-gather or reduce-scatter over all ranks, with room for padding."""
    n = case.ranks
    return (n - 1) * n * -(-case.facts["elements"] // n) * 8


def claim(case: Case, seen: Observation) -> str | None:
    """Right values and gradients; gathered twice, scattered once, and nothing whole kept."""
    facts = case.facts
    for rank, value in enumerate(seen.values):
        where = f"{case.name}, rank {rank}"
        if not close(value["out"], facts["out"][rank], TOLERANCE):
            return f"{where} returned {_not_the_product(facts['out'][rank], value['out'])}."
        if not close(value["x"], facts["x"][rank], TOLERANCE):
            return f"{where}'s gradient of x is not the output's gradient times the weight."
        a, b = facts["bounds"][rank]
        if not close(value["own"], facts["sum"][a:b], TOLERANCE):
            return f"{where}'s gradient of `own` is not its slice of the sum over the ranks."
    n, forward, backward = case.ranks, phase(seen, "forward"), phase(seen, "backward")
    enough = _one(case)
    if forward > enough or backward > 2 * enough:
        return (
            f"{case.name}, the ranks sent {forward} B in forward and {backward} B in backward; "
            f"{enough} B and {2 * enough} B are enough."
        )
    least = (n - 1) * facts["elements"] * 8
    if backward < 2 * least or any(
        (v["saved"] or 0) >= facts["elements"] + v["out"].size for v in seen.values if n > 1
    ):
        hint = wrong.kept(case, seen)
        return hint or f"{case.name}, the weight was kept from forward to backward."
    for held in (wrong.kept, wrong.kept_after, wrote, not_waited):
        if said := held(case, seen):
            return said
    return None


def wrote(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    for rank, value in enumerate(seen.values):
        if value["changed"] in WRITTEN:
            return (
                f"{case.name}, rank {rank} wrote into {WRITTEN[value['changed']]}, which others "
                "use too: gather and compute into tensors of your own."
            )
    return None


def compared(case: Case, seen: Observation) -> Any:
    """Outputs; of those that are right in some columns, which; then x's gradients, then own's."""
    outputs = list(zip([v["out"] for v in seen.values], case.facts["out"], strict=True))
    if not all(close(out, want, TOLERANCE) for out, want in outputs):
        columns = [
            [close(out[:, column], want[:, column], TOLERANCE) for column in range(want.shape[1])]
            for out, want in outputs
        ]
        return columns if any(map(any, columns)) else [out for out, _ in outputs]
    gradients = [v["x"] for v in seen.values]
    if all(close(g, w, TOLERANCE) for g, w in zip(gradients, case.facts["x"], strict=True)):
        return {"own": [v["own"] for v in seen.values]}
    return {"x": gradients}


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    forward, backward, enough = phase(seen, "forward"), phase(seen, "backward"), _one(case)
    shape = case.args[0][2]
    known = case.facts["bounds"][0][1] // shape[1]  # outputs that rank 0's chunk gives alone
    return {
        "n": case.ranks,
        "shape": shape,
        "known": count(known, "output"),
        "are": "is" if known == 1 else "are",
        "forward": f"{times(forward, enough or 1)} the bytes of an all-gather ({forward} B "
        f"instead of {enough} B)",
        "backward": times(backward, 2 * enough or 1),
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    saved, elements = seen[0].values[0]["saved"], cases[0].facts["elements"]
    return (
        f"Passed on {worlds(cases)}: gathered in forward, gathered again and scattered in backward "
        f"(3 Ψ), and between them autograd keeps {saved} numbers where the weight has {elements}."
    )


def reference(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """The course's own, of which each wrong answer changes one thing."""
    return right(comm, x, own, shape)


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
    compared=compared,
    mistakes=(
        Mistake("sends to itself", self_hint, unfinished=True),
        Mistake("slices of another length", wrong.other_slices, unfinished=True),
        Mistake("forward gathers nothing", wrong.nothing_gathered),
        Mistake("outside autograd", wrong.no_graph),
        Mistake("changes what it is given", wrote),
        Mistake("messages not waited for", not_waited),
        Mistake("keeps the weight", wrong.kept),
        Mistake("keeps the gradient", wrong.kept_after),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "reads the row the other way",
            wrong.other_view,
            "the flat weight was read as (inputs, outputs): it is `W.flatten()` of an (outputs, "
            "inputs) matrix, so `.view(shape)` with shape {shape}, and x Wᵀ.",
        ),
        WrongAnswer(
            "every slice at the start",
            wrong.at_the_start,
            "{known} that rank 0's chunk gives {are} right and the others are not: `own` has to "
            "lie in chunk r before the all-gather, `whole[start:stop] = own`, and not at the "
            "start.",
        ),
        WrongAnswer(
            "no gradient of x",
            wrong.no_x,
            "x has no gradient: backward returns one for each argument of forward, in the same "
            "order, and the layer before needs x's, `gradient @ W`.",
        ),
        WrongAnswer(
            "gathers by a sum",
            wrong.gathers_by_a_sum,
            "forward sent {forward}: slices that are put together by a sum with zeros go round "
            "twice. `all_gather_ring` passes each slice on once.",
        ),
        WrongAnswer(
            "sums the gradient of x",
            wrong.sums_x,
            "the gradient of x was summed over the ranks: each rank has rows of its own here, so "
            "x's gradient is `gradient @ W` and nothing is sent for it.",
        ),
        WrongAnswer(
            "own gradient only",
            wrong.own_gradient,
            "the gradient of `own` is this rank's alone: the other ranks' rows used the same "
            "weight. Reduce-scatter the gradient of the whole weight.",
        ),
        WrongAnswer(
            "averages",
            wrong.averages,
            "the gradient of `own` is {n} times too small: here the ranks' gradients are summed, "
            "and not divided; whether a loss is a sum or a mean is for the loss to say.",
        ),
        WrongAnswer(
            "the gradient of the transpose",
            wrong.turned,
            "the gradient of `own` is a slice of that of Wᵀ: W is (outputs, inputs), so its "
            "gradient is `gradient.T @ x`, and then in a row.",
        ),
        WrongAnswer(
            "all-reduces the gradient",
            wrong.by_all_reduce,
            "backward sent {backward} the bytes it had to: every rank got the whole summed "
            "gradient and cut its slice out of it. A reduce-scatter leaves the slice, with half of "
            "the bytes.",
        ),
        WrongAnswer("saves the weight", wrong.saves_the_weight, hint="it is among them. Save x"),
        WrongAnswer("keeps it in ctx", wrong.keeps_in_ctx, hint="gradients alone take"),
        WrongAnswer("gathers and keeps", wrong.gathers_and_keeps, hint="yet never freed"),
        WrongAnswer("plain", wrong.plain, hint="does not come to `own`"),
        WrongAnswer("no gather", wrong.no_gather, hint="forward sent nothing"),
        WrongAnswer("holds it, and gathers", wrong.holds_and_gathers, hint="such as `ctx`, a list"),
        WrongAnswer("a view", wrong.view_of_the_gradient, hint="is a view of a tensor with"),
        WrongAnswer("whole gradient", wrong.whole_gradient, hint="a slice of them"),
        WrongAnswer("other order", wrong.other_order, hint="in their order"),
        WrongAnswer("even slices", wrong.even_slices, hint="two slices differ in length"),
        WrongAnswer("keeps in backward", wrong.keeps_in_backward, hint="was put where it stays"),
        WrongAnswer("scales x", wrong.scales_x, hint="wrote into x"),
        WrongAnswer("to itself as well", wrong.to_itself, hint="which nobody will receive"),
        WrongAnswer("no wait", wrong.no_wait, hint="without waiting for"),
    ),
    figure=0,
)
