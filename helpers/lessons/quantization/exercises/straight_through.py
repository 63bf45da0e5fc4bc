"""Exercise 11.6, quantization that training can see.

`fake_quantize(x, scale, zero_point, lowest, highest)`: x's values, each the nearest one on the
grid. The claim: forward scale · (q − zero_point) with q = round(x / scale) + zero_point, clamped;
backward the gradient from above where q lay in lowest … highest before it was clamped, 0 elsewhere,
whatever was called in between; neither x nor the gradient from above is written into; and it is not
torch's own, which a learner's check sees and a grader does not. Sources: Bengio, Léonard and
Courville (2013), section 2.3; Jacob et al. (2018), section 3. What makes this file long are 41
wrong answers.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.common import fails_with
from helpers.checks.compare import close, describe, is_array
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.values import plain, tensors
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.quantization.algorithms.fake_quantization import _StraightThrough
from helpers.lessons.quantization.algorithms.fake_quantization import fake_quantize as reference
from helpers.lessons.quantization.exercises.figures import (
    Claim,
    Found,
    farthest,
    said,
    single,
    what,
)


def cases(seed: int) -> list[Case]:
    """Seed 0: 4 bits, then 8 bits with and without a sign, a symmetric grid, a grid from 0 on.

    Each has values within the grid, at its ends, a little beyond them where the last code still is
    the nearest one, beyond that, and so far out that the value is beyond the numbers of the codes.
    None is half-way between two codes, or near that.
    """
    random, made = rng(seed, "11.6"), []
    some = random.integers(-1, 3, 5) if seed else [0] * 5
    settings = [
        ("With the codes −8 to 7", -8, 7, 2, (5, 6)),
        ("With the codes −128 to 127", -128, 127, -31, (4, 3, 5)),
        ("With the codes 0 to 255", 0, 255, 87, (60,)),
        ("With the symmetric codes −7 to 7", -7, 7, 0, (2, 2, 3, 5)),
        ("With the codes 0 to 15", 0, 15, 0, (3, 20)),
    ]
    for (name, lowest, highest, zero, shape), more in zip(settings, some, strict=True):
        zero = zero + int(more) if zero else 0
        scale = round(float(random.uniform(0.12, 0.45)), 4)
        far = int(max(abs(lowest), abs(highest)) / scale) + abs(zero) + 30.2
        told = [zero, zero - far, zero + far, zero - 0.7, zero + 0.7]
        told += [lowest + beside for beside in (-3.2, -0.8, -0.3, -0.12, 0.02, 0.3)]
        told += [highest - beside for beside in (-2.7, -0.8, -0.3, -0.12, 0.02, 0.3)]
        told += [2 * zero - lowest - 0.1, 2 * zero - highest + 0.1]  # the ends, seen from −x
        whole = random.integers(lowest - 6, highest + 7, int(np.prod(shape)) - len(told))
        inside = whole + random.uniform(-0.4, 0.4, len(whole))
        codes = random.permutation(np.concatenate([told, inside]))
        x = (scale * (codes - zero)).reshape(shape).astype(np.float32)
        gradient = random.choice([-1.0, 1.0], shape) * random.uniform(0.5, 2.0, shape)
        args = (x, scale, zero, lowest, highest, gradient.astype(np.float32))
        made.append(Case(f"{name}, zero point {zero} and scale {scale:g}", (args,)))
    return made


def _exact(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """In doubles, what should come out, and what come back to x."""
    x, scale, zero, lowest, highest, above = case.args[0]
    codes = np.round(x.astype(np.float64) / scale) + zero
    inside = (codes >= lowest) & (codes <= highest)
    return (np.clip(codes, lowest, highest) - zero) * scale, above * inside.astype(np.float64)


@Claim
def claim(case: Case, seen: Observation) -> Iterator[Found]:
    """The values, the gradient, and nothing written into."""
    got, told, (right, back) = seen.values[0], numbers(case, seen), _exact(case)
    out, gradient = got["out"], got["gradient"]
    words = f"you returned {describe(out)}; wanted are floats, one for each of x."
    if not is_array(out, right.shape):
        yield words, what(out)
    if out.dtype.kind != "f":
        yield words, single(out)
    if not close(out, right):
        yield f"{told['value']}.", single(out)
    if not got["linked"]:
        yield "no way leads back from what you returned."
    if not close(gradient, back):
        yield f"{told['gradient']}.", {"gradient": single(gradient)}
    if got["changed"]:
        yield (
            "you wrote into x, which other layers may use and autograd may have kept: work on a "
            "new tensor, without `_` at the end of a method's name."
        )
    if got["spoiled"]:
        yield (
            "your backward wrote into the gradient that it was given, which another branch of the "
            "model may be given too: make a new one, such as gradient * inside."
        )
    if got["torch"]:
        yield (
            "the values and the gradient are right, and they are torch's: its own function for "
            "this was called. Here you write what that does: an `autograd.Function` out of round, "
            "clamp and a mask."
        )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the value and the gradient that are farthest off."""
    (right, back), (x, *_, above) = _exact(case), case.args[0]
    if seen.trouble or not is_array(seen.values[0]["out"], x.shape):
        return {}
    at, got, wanted = farthest(seen.values[0]["out"], right)
    value = f"{said(x.flat[at])} became {got} and should be {wanted}"
    at, got, wanted = farthest(seen.values[0]["gradient"], back)
    here, from_above = said(x.flat[at] + 0.0), said(above.flat[at])
    gradient = f"where x is {here} the gradient {from_above} came back as {got}, not as {wanted}"
    return {"value": value, "gradient": gradient}


_count_of_gradients = fails_with(
    "incorrect number of gradients",
    "backward returned another number of values than forward takes arguments: give the "
    "gradient for x, and None for scale, zero_point, lowest and highest.",
)


def _kept_as_a_tuple(case: Case, seen: Observation) -> Iterator[str]:
    """Backward computed with ctx.saved_tensors as if it were the tensor."""
    # A tuple takes a tensor times itself for so many repeats, and asks it for a whole number.
    both = "'Tensor' and 'tuple'", "'tuple' and 'Tensor'", "can be converted to an index"
    if seen.trouble == "failed" and any(words in seen.text for words in both):
        yield (
            "a tuple was taken for a tensor. ctx.saved_tensors is always a tuple, however few were "
            "kept: `(inside,) = ctx.saved_tensors` takes one out."
        )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    inside = sum(np.count_nonzero(_exact(case)[1]) for case in cases)
    count = sum(case.args[0][0].size for case in cases)
    return (
        f"Passed on {len(cases)} grids: all {count} values are the nearest ones that there are, "
        f"and the gradient came back to the {inside} that were not clipped, and to no other."
    )


def there_and_back(fn: Function, case: Case) -> Observation:
    """Call `fn(x, …)`, and go back with the gradient that is the last of the case's arguments.

    In between `fn(−x, …)` is called too, as in a model with several layers. x is no leaf, so that
    autograd lets an answer write into it. `values[0]`: "out", what came out; "changed", whether x
    was written into; "linked", whether a way leads back; "gradient", that of x, zeros where there
    is none; "spoiled", whether the gradient that came from above was written into; "torch", whether
    the way back is that of torch's own fake quantization.
    """
    trouble = wrong_signature(fn, len(case.args[0]) - 1)
    if trouble:
        return trouble
    start, *others, gradient = (tensors(arg) for arg in case.args[0])
    x = start.requires_grad_().clone()
    before, above = x.detach().clone(), gradient.clone()
    try:
        out = fn(x, *others)
        found = {
            "out": plain(out),
            "changed": not torch.equal(x.detach(), before),
            "linked": isinstance(out, Tensor) and out.requires_grad,
            "torch": _is_torchs(out),
        }
        fn((-before).requires_grad_().clone(), *others)
        if found["linked"] and out.shape == x.shape:
            out.backward(gradient.to(out.dtype))
    except Exception as error:
        return failed(error, fn)
    back = torch.zeros_like(before) if start.grad is None else start.grad
    found["gradient"], found["spoiled"] = plain(back), not torch.equal(gradient, above)
    return Observation(values=[found])


def _is_torchs(out: Any) -> bool:
    """Whether a step of the way back from a tensor has the name of torch's own."""
    steps = [getattr(out, "grad_fn", None)]
    for step in filter(None, steps):  # which it gets more of
        steps += [before for before, _ in step.next_functions if before not in steps]
    return any(step.name().startswith("FakeQuantize") for step in filter(None, steps))


WRONG = """
codes
    | (codes.clamp(lowest, highest) - zero_point) * scale => codes.clamp(lowest, highest)
    {value}: these are codes, or steps; values are scale · (q − zero_point).
codes, not clamped
    | (codes.clamp(lowest, highest) - zero_point) * scale => codes
    ! codes
steps
    | - zero_point) * scale => - zero_point)
    ! codes
not clamped
    | codes.clamp(lowest, highest) => codes
    {value}: q is not clamped: beyond lowest and highest there are no codes.
ends taken for values
    | codes.clamp(lowest, highest) - zero_point => torch.round(x.clamp(lowest, highest) / scale)
    {value}: lowest and highest are codes: clamp round(x / scale) + zero_point.
ends taken for values late
    | (codes.clamp(lowest, highest) - zero_point) * scale
        => ((codes - zero_point) * scale).clamp(lowest, highest)
    ! ends taken for values
no zero point
    | codes.clamp(lowest, highest) - zero_point => (codes - zero_point).clamp(lowest, highest)
    {value}: the zero point is left out, and the grid lies elsewhere: add it before you clamp, and
    take it away again afterwards.
zero point stays
    | - zero_point) * scale => ) * scale
    {value}: the zero point was never taken away again: scale · (q − zero_point).
zero point only taken away
    | codes.clamp => (codes - zero_point).clamp
    {value}: the zero point has to be added: round(x / scale) + zero_point.
zero point negated
    | codes.clamp(lowest, highest) - zero_point
        => (codes - 2 * zero_point).clamp(lowest, highest) + zero_point
    {value}: the zero point has to be added: round(x / scale) + zero_point.
cut off
    | torch.round => torch.trunc
    {value}: the fraction was cut off and not rounded: up to a whole step is lost, where
    `torch.round` loses half a step at most.
cut off, with the zero point
    | torch.round(wide / scale) + zero_point => torch.trunc(wide / scale + zero_point)
    ! cut off
rounded down
    | torch.round => torch.floor
    ! cut off
rounded up
    | torch.round => torch.ceil
    ! cut off
not rounded
    | (codes.clamp(lowest, highest) - zero_point) * scale => x.clone()
    {value}: x was not rounded: only whole codes q are there.
clamped and not rounded
    | torch.round(wide / scale) => wide / scale
    ! not rounded
no way back
    | return _StraightThrough.apply(x, => return _StraightThrough.apply(x.detach(),
    the values are right, but what you returned has no `grad_fn`. No way leads back to x: that is
    what `detach`, `no_grad` and whole numbers do. Take x's own way round the rounding.
rounding's own gradient
    | gradient * inside => torch.zeros_like(gradient)
    {gradient}: nothing comes back at all. Rounding has the gradient 0: say what backward does, in
    an `autograd.Function`, or by x + (rounded − x).detach() where x may learn.
everywhere
    | gradient * inside => gradient
    {gradient}: the gradient is 1 everywhere. A value beyond the grid is cut off: moving it a little
    changes nothing: its gradient is 0. Codes tell which, before they are clamped.
times scale
    | (codes >= lowest) & (codes <= highest) => scale * ((codes >= lowest) & (codes <= highest))
    {gradient}: it was multiplied by scale. Forward divides by it too: they cancel.
times scale, everywhere
    | (codes >= lowest) & (codes <= highest) => scale * torch.ones_like(x)
    ! times scale
over scale
    | (codes >= lowest) & (codes <= highest) => ((codes >= lowest) & (codes <= highest)) / scale
    {gradient}: it was divided by scale. Forward multiplies by it too: they cancel.
over scale, everywhere
    | (codes >= lowest) & (codes <= highest) => torch.ones_like(x) / scale
    ! over scale
inside by values
    | (codes >= lowest) => (x / scale + zero_point >= lowest)
    | (codes <= highest) => (x / scale + zero_point <= highest)
    {gradient}: x lies beyond the end value by less than half a step and still rounds to the last
    code, so nothing is cut off. Compare codes with lowest and highest, not x with end values.
one end
    | (codes >= lowest) & (codes <= highest) => codes <= highest
    {gradient}: one end alone was looked at: a code is at least lowest and at most highest.
the other end
    | (codes >= lowest) & (codes <= highest) => codes >= lowest
    ! one end
without the ends
    | codes >= lowest => codes > lowest
    | codes <= highest => codes < highest
    {gradient}: the last codes are codes as well: lowest ≤ q ≤ highest, with both ends.
without the upper end
    | codes <= highest => codes < highest
    ! without the ends
without the lower end
    | codes >= lowest => codes > lowest
    ! without the ends
inside, without zero point
    | (codes >= lowest) => (codes - zero_point >= lowest)
    | (codes <= highest) => (codes - zero_point <= highest)
    {gradient}: round(x / scale) was compared without the zero point.
x taken for codes
    | (codes >= lowest) & (codes <= highest) => (x >= lowest) & (x <= highest)
    {gradient}: x itself was compared, and lowest and highest are codes.
turned round
    | gradient * inside => gradient * ~inside
    {gradient}: it came back where values were cut off: the other way round.
the mask alone
    | gradient * inside => inside.to(gradient.dtype)
    {gradient}: backward returned 1 and 0: multiply its argument, the gradient, by them.
ones
    | gradient * inside => torch.ones_like(gradient)
    ! the mask alone
the last call's
    | ctx.save_for_backward( => _StraightThrough.inside = (
    | (inside,) = ctx.saved_tensors => inside = _StraightThrough.inside
    {gradient}: `fake_quantize` was called once more before backward, as in a model with two layers,
    and backward used what the later call had left. Keep it in `ctx`, by `save_for_backward`, which
    each call has for itself.
writes into x
    | torch.round(wide / scale) => wide.div_(scale).round_()
    ! claim
writes into the gradient
    | return gradient * inside => gradient[~inside] = 0; return gradient
    ! claim
torch's own
    | _StraightThrough.apply => torch.fake_quantize_per_tensor_affine
    ! claim
no backward
    | def backward => def sideways
    your Function has no backward: write `backward(ctx, gradient)` too.
one gradient
    | gradient * inside, None, None, None, None => gradient * inside
    ? and None for
saved tuple
    | (inside,) = => inside =
    ? ctx.saved_tensors is always a tuple
"""

EXERCISE = Exercise(
    number="11.6",
    title="Straight through",
    size=Size(stars=3, minutes=15, points=4),
    function="fake_quantize",
    asks=(
        "the nearest values on the grid, scale · (q − zero_point) with q from lowest to highest; "
        "backward, the gradient where round(x / scale) + zero_point is such a q, and 0 elsewhere."
    ),
    cases=cases,
    drive=there_and_back,
    claim=claim,
    mistakes=(
        Mistake("another number of gradients", _count_of_gradients, unfinished=True),
        Mistake("kept as a tuple", _kept_as_a_tuple, unfinished=True),
    ),
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=claim.compared,
    wrong=wrong_answers("11.6", WRONG, (reference, _StraightThrough), claim),
    ranked=False,
)
