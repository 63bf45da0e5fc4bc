"""Exercise 14.6, stage 3's layer: its weight is gathered to be used, and freed.

`sharded_linear(comm, x, own, shape) -> Tensor`: y = x Wᵀ where W, flat, lies in slices on the
ranks; own is chunk r of `chunk_bounds`. The claim: y, x's gradient where x takes one, and as own's
gradient this rank's slice of the sum over the ranks, to 1e-10 in float64, also where a rank has no
number of W, no rows or a gradient of 0; forward gathers once and backward gathers again and
scatters once; nothing as large as W and no y is there between them or after them, in autograd or
outside it; what was handed in stays as it is, and every message is waited for. 23 wrong answers
make this file long.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from helpers.checks.common import self_hint
from helpers.checks.compare import all_close, close, count, describe, is_array, rounded, worlds
from helpers.checks.drives.requests import not_waited
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.messages.algorithms.collectives import (
    all_gather_ring,
    chunk_bounds,
    reduce_scatter_ring,
)
from helpers.lessons.sharding.exercises.kept_weights import (
    kept,
    kept_after,
    on_layer,
    phase,
)
from helpers.lessons.sharding.exercises.shared import fails, stay_away, told_by_all, wrote_into

FEW, PLAIN = ", fewer numbers than ranks", " and an x that takes no gradient"
UNEVEN, SINGLE = ", no rows on rank 1 and a gradient of 0 on rank 2", " in float32"


def cases(seed: int) -> list[Case]:
    """Seed 0: a 6 × 8 weight on 3 ranks, then 1, 2 and 5 ranks with slices of uneven lengths. At
    the end fewer numbers than ranks, ranks without rows and with a gradient of 0, x without a
    gradient, and float32."""
    random, made = rng(seed, "14.6"), []
    settings: list[tuple[Any, ...]] = [(3, 6, 8, 2), (1, 3, 4, 2), (2, 5, 5, 3), (5, 7, 6, 1)]
    if seed:
        settings = [
            (n, *(int(s) for s in random.integers(4, 9, 2)), int(random.integers(1, 4)))
            for n in (3, 1, 2, 5, 4)
        ]
    others = [(3, 1, 2, 2, FEW), (3, 4, 5, 2, UNEVEN), (3, 5, 4, 2, PLAIN), (2, 4, 6, 2, SINGLE)]
    for n, outputs, inputs, rows, what in [*((*each, "") for each in settings), *others]:
        kind = np.float32 if what == SINGLE else np.float64
        shapes = [(outputs, inputs), (n, rows, inputs), (n, rows, outputs)]
        weight, *both = (random.standard_normal(shape).astype(kind) for shape in shapes)
        xs, factors = map(list, both)
        if what == UNEVEN:
            xs[1], factors[1], factors[2] = xs[1][:0], factors[1][:0], 0 * factors[2]
        bounds = [(r * weight.size // n, (r + 1) * weight.size // n) for r in range(n)]
        args = tuple(
            (xs[r], weight.ravel()[a:b], (outputs, inputs), factors[r], what != PLAIN)
            for r, (a, b) in enumerate(bounds)
        )
        total = sum(factor.T @ x for factor, x in zip(factors, xs, strict=True)).ravel()
        facts = {
            "out": [x @ weight.T for x in xs],
            "x": [factor @ weight for factor in factors],
            "own": [total[a:b] for a, b in bounds],
            "bounds": bounds,
            "shape": [outputs, inputs],
            "elements": weight.size,
            "near": 1e-5 if what == SINGLE else 1e-10,
            # Bytes of one all-gather or reduce-scatter over all ranks, with room for padding.
            "enough": (n - 1) * n * -(-weight.size // n) * weight.itemsize,
            "least": (n - 1) * weight.nbytes,
        }
        name = f"On {count(n, 'rank')} with a {outputs} × {inputs} weight{what}"
        made.append(Case(name, args, n, facts=facts))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Right values and gradients; gathered twice, scattered once, and nothing whole kept."""
    facts, enough, near = case.facts, case.facts["enough"], case.facts["near"]
    for rank, value in enumerate(seen.values):
        out, want = value["out"], facts["out"][rank]
        if not is_array(out, want.shape):
            yield f"rank {rank} returned {describe(out)}; x Wᵀ has the shape {want.shape}."
        if not close(out, want, near):
            why = rounded([out], [want]) or (
                ". Look at where `own` goes: into chunk r of the flat weight, with the bounds of "
                "`chunk_bounds`, and then `.view(shape)`"
                if case.ranks > 1
                else ". It was called with another `own` before, of which nothing may stay"
            )
            yield (
                f"rank {rank} returned numbers of the right shape, {want.shape}, but other values "
                f"than x Wᵀ{why}."
            )
        if out.dtype != case.args[rank][0].dtype:
            yield f"rank {rank} returned {out.dtype} where x is {case.args[rank][0].dtype}."
        if case.args[rank][4] and not close(value["x"], facts["x"][rank], near):
            yield f"rank {rank}'s gradient of x is not the output's gradient times the weight."
        if not close(value["own"], facts["own"][rank], near):
            yield f"rank {rank}'s gradient of `own` is not its slice of the sum over the ranks."
    forward, backward = phase(seen, "forward"), phase(seen, "backward")
    if forward > enough or backward > 2 * enough:
        yield (
            f"the ranks sent {forward} B in forward and {backward} B in backward; {enough} B and "
            f"{2 * enough} B are enough."
        )
    if sum(seen.bytes) > 3 * enough:
        yield f"the ranks sent {sum(seen.bytes)} B; {3 * enough} B are enough."
    if sum(seen.bytes) < (2 + case.args[0][4]) * facts["least"]:
        yield "the weight was not gathered again in backward, so it was kept."
    for look in (kept, kept_after, wrote):
        yield from look(case, seen)
    yield not_waited(case, seen)


wrote = wrote_into(
    "rank {rank} wrote into {name}, which others use too: gather and compute into tensors of your "
    "own.",
    *("`own`", "x", "the gradient that backward was given"),
)


stays_away = stay_away(
    "the others wait for {away}, which did not come: gather and reduce-scatter take every rank, "
    "in forward and in backward, also one with an empty chunk, without rows or with a gradient of "
    "0."
)


def other_slices(case: Case, seen: Observation) -> Iterator[str | None]:
    """Slices, or gradients, of another length."""
    yield fails(
        "two slices differ in length ({said}). `chunk_bounds` gives the ranks {sizes} numbers, and "
        "`own` is as long.",
        *("must match", "expanded size"),
    )(case, seen)
    yield fails(
        "backward returned a gradient for all {elements} numbers of the weight, and `own` is a "
        "slice of them: reduce-scatter it, and return this rank's chunk.",
        *("got [{elements}]", "got {shape}"),
    )(case, seen)
    yield fails(
        "backward returned a gradient of another shape than its argument has ({said}): it returns "
        "one for each argument of forward, in their order, and None for what needs none.",
        "invalid gradient",
    )(case, seen)


def nothing_gathered(case: Case, seen: Observation) -> Iterator[str]:
    """No message in forward."""
    if case.ranks > 1 and not phase(seen, "forward"):
        yield (
            "forward sent nothing, so a rank cannot know the others' slices of the weight: "
            "all-gather them first."
        )


def no_graph(case: Case, seen: Observation) -> Iterator[str]:
    """Autograd does not come to the slice."""
    reached = all(v["reached"] and v["own"] is not None for v in seen.values)
    near = case.facts["near"]
    if not reached and all_close([v["out"] for v in seen.values], case.facts["out"], near):
        yield (
            "forward is right, but backward does not come to `own`: messages are outside autograd, "
            "so `own` goes into a `torch.autograd.Function` through its `apply`, and its backward "
            "returns the gradient in the place that `own` has among forward's arguments."
        )


def compared(case: Case, seen: Observation) -> Any:
    """Outputs; of those that are right in some columns, which; then x's gradients, then own's; then
    the bytes of forward and backward."""
    near = case.facts["near"]
    outputs, gradients = ([value[key] for value in seen.values] for key in ("out", "x"))
    if not all_close(outputs, case.facts["out"], near):
        columns = [
            [close(one, other, near) for one, other in zip(out.T, want.T, strict=True)]
            for out, want in zip(outputs, case.facts["out"], strict=True)
        ]
        return columns if any(map(any, columns)) else outputs
    if case.args[0][4] and not all_close(gradients, case.facts["x"], near):
        return {"x": gradients}
    own = [v["own"] for v in seen.values]
    if not all_close(own, case.facts["own"], near):
        return {"own": own}
    return {"sent": [phase(seen, "forward"), phase(seen, "backward")]}


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    forward, enough = phase(seen, "forward"), case.facts["enough"]
    shape = case.args[0][2]
    known = len(case.args[0][1]) // shape[1]  # outputs that rank 0's chunk gives alone
    return {
        "n": case.ranks,
        "shape": shape,
        "known": count(known, "output"),
        "are": "is" if known == 1 else "are",
        "forward": f"{forward / (enough or 1):.3g}× the bytes of an all-gather ({forward} B "
        f"instead of {enough} B)",
        "backward": f"{phase(seen, 'backward') / (2 * enough or 1):.3g}×",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    saved, elements = seen[0].values[0]["saved"], cases[0].facts["elements"]
    return (
        f"Passed on {worlds(cases)}: gathered in forward, gathered again and scattered in backward "
        f"(3 Ψ), and between them autograd keeps {saved} numbers beside x and `own`, where the "
        f"weight has {elements}."
    )


def reference(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    """Gathers in forward and again in backward, and what was gathered ends with each."""
    return Linear.apply(x, own, comm, shape)


class Linear(torch.autograd.Function):
    """x Wᵀ, of this rank's slice of W."""

    @staticmethod
    def forward(ctx: Any, x: Any, own: Any, comm: Any, shape: tuple[int, int]) -> Any:
        ctx.comm, ctx.shape = comm, shape
        weight = gathered(comm, own, shape)
        ctx.save_for_backward(x, own)
        return x @ weight.T

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        x, own = ctx.saved_tensors
        of_x = gradients[0] @ gathered(ctx.comm, own, ctx.shape)
        of_weight = (gradients[0].T @ x).view(-1)
        of_own = reduce_scatter_ring(ctx.comm, of_weight).clone()
        return of_x, of_own, None, None


def gathered(comm: Any, own: Any, shape: tuple[int, int]) -> Any:
    """The whole weight."""
    flat = own.new_zeros(shape[0] * shape[1])
    start, stop = chunk_bounds(len(flat), comm.size)[comm.rank]
    flat[start:stop] = own.detach()
    return all_gather_ring(comm, flat).view(shape)


WRONG = """
reads the row the other way
    | .view(shape) => .view(shape[1], shape[0]).T
    the flat weight was read as (inputs, outputs): it is `W.flatten()` of an (outputs, inputs)
    matrix, so `.view(shape)` with shape {shape}, and x Wᵀ.
every slice at the start
    | flat[start:stop] = => flat[: len(own)] =
    {known} that rank 0's chunk gives {are} right and the others are not: `own` has to lie in chunk
    r before the all-gather, `whole[start:stop] = own`, and not at the start.
no gradient of x
    | return of_x, => return None,
    x has no gradient, and the layer before needs it: x goes into the Function as it is, and
    backward returns `gradient @ W` in x's place.
gathers by a sum
    | return all_gather => reduce_scatter_ring(comm, flat); return all_gather
    forward sent {forward}: each slice goes round once, as `all_gather_ring` passes it on. In a sum
    with zeros it goes round twice.
sums the gradient of x
    | return of_x, => reduce_scatter_ring(ctx.comm, of_x); return all_gather_ring(ctx.comm, of_x),
    the gradient of x was summed over the ranks: each rank has rows of its own here, so x's gradient
    is `gradient @ W` and nothing is sent for it.
own gradient only
    | of_own = => start, stop = chunk_bounds(len(of_weight), ctx.comm.size)[ctx.comm.rank];
        of_own = of_weight[start:stop].clone() + 0 *
    the gradient of `own` is this rank's alone: the other ranks' rows used the same weight.
    Reduce-scatter the gradient of the whole weight.
averages
    | of_weight).clone() => of_weight) / ctx.comm.size
    the gradient of `own` is {n} times too small: here the ranks' gradients are summed, and not
    divided; whether a loss is a sum or a mean is for the loss to say.
the gradient of the transpose
    | (gradients[0].T @ x).view => (x.T @ gradients[0]).view
    the gradient of `own` is a slice of that of Wᵀ: W is (outputs, inputs), so its gradient is
    `gradient.T @ x`, and then in a row.
all-reduces the gradient
    | return of_x, => all_gather_ring(ctx.comm, of_weight); return of_x,
    backward sent {backward} the bytes of one all-gather and one reduce-scatter, which are enough: W
    is gathered once, and of its summed gradient no rank needs more than its own chunk.
saves the weight
    | ctx.save_for_backward(x, own) => ctx.save_for_backward(x, own, weight)
    | x, own = ctx => x, own, weight = ctx
    | gathered(ctx.comm, own, ctx.shape) => weight
    ? it is among them. Save x
keeps it in ctx
    | ctx.save_for => ctx.weight = weight; ctx.save_for
    | gathered(ctx.comm, own, ctx.shape) => ctx.weight
    ? gradients alone take
gathers and keeps
    | ctx.save_for_backward(x, own) => ctx.save_for_backward(x, own, weight)
    | x, own = ctx => x, own, _ = ctx
    ? yet never freed
plain
    | Linear.apply(x, own, comm, shape) => x @ gathered(comm, own, shape).T
    ? does not come to `own`
no gather
    | Linear.apply(x, own, comm, shape) => x @ gathered(comm, own, shape).T
    | all_gather_ring(comm, flat) => flat
    ? forward sent nothing
holds it, and gathers
    | ctx.save_for => ctx.weight = weight; ctx.save_for
    ? such as `ctx`, a list
a view
    | of_weight).clone() => of_weight)
    ? is a view of a tensor with
whole gradient
    | return of_x, of_own, => all_gather_ring(ctx.comm, of_weight); return of_x, of_weight,
    ? a slice of them
other order
    | return of_x, of_own, => return of_own, of_x,
    ? in their order
even slices
    | start, stop = chunk_bounds(len(flat), comm.size)[comm.rank]
        => each = len(flat) // comm.size; start = comm.rank * each; stop = start + each
    ? two slices differ in length
keeps in backward
    | of_x = gradients[0] @ => ctx.comm.stays =
    | of_weight = ( => of_x = gradients[0] @ ctx.comm.stays; of_weight = (
    ? was put where it stays
scales x
    | return Linear.apply(x, => out = Linear.apply(1.0 * x,
    | own, comm, shape) => own, comm, shape); x.data.mul_(1.5); return out
    ? wrote into x
without rows it returns
    | return Linear.apply => return x @ own.new_zeros(shape).T if not len(x) else Linear.apply
    ? which did not come
to itself as well
    | all_gather_ring(comm, flat) => torch.cat(told_by_all(comm, own, to_itself=True))
    ? which nobody will receive
no wait
    | all_gather_ring(comm, flat) => torch.cat(told_by_all(comm, own))
    ? without waiting for
"""

EXERCISE = Exercise(
    number="14.6",
    title="Gather, use, free",
    size=Size(stars=3, minutes=25, points=5),
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
        Mistake("slices of another length", other_slices, unfinished=True),
        Mistake("stays away", stays_away, unfinished=True),
        Mistake("forward gathers nothing", nothing_gathered),
        Mistake("outside autograd", no_graph),
        Mistake("changes what it is given", wrote),
        Mistake("messages not waited for", not_waited),
        Mistake("keeps the weight", kept),
        Mistake("keeps the gradient", kept_after),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("14.6", WRONG, (reference, Linear, gathered, told_by_all)),
    figure=0,
)
