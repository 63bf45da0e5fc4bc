"""Exercise 11.6, quantization that training can see.

`fake_quantize(x, scale, zero_point, lowest, highest)`: x's values, each the nearest one on the
grid. The claim: forward scale · (q − zero_point) with q = round(x / scale) + zero_point, clamped;
backward the gradient from above where q lay in lowest … highest before it was clamped, 0 elsewhere,
whatever was called in between; neither x nor the gradient from above is written into; and it is not
torch's own, which a learner's check sees and a grader does not. Sources: Bengio, Léonard and
Courville (2013), section 2.3; Jacob et al. (2018), section 3. What makes this file long are 41
wrong answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.algorithms.quantization.fake_quantization import _StraightThrough
from helpers.algorithms.quantization.fake_quantization import fake_quantize as reference
from helpers.exercises.common import fails_with, rng
from helpers.exercises.compare import close, describe, is_array
from helpers.exercises.drives.calling import Function, failed, wrong_signature
from helpers.exercises.drives.values import Remote, plain, tensors
from helpers.exercises.lesson_11.figures import Array, said, said_apart, single, what
from helpers.exercises.spec import Case, Exercise, Mistake, Observation
from helpers.exercises.table import wrong_answers


def cases(seed: int) -> list[Case]:
    """Seed 0: 4 bits, then 8 bits with and without a sign, a symmetric grid, a grid from 0 on.

    Each has values within the grid, at its ends, a little beyond them where the last code still is
    the nearest one, beyond that, and so far out that the value is beyond the numbers of the codes.
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
        codes = _codes(random, lowest, highest, zero, scale, int(np.prod(shape)))
        x = (scale * (codes - zero)).reshape(shape).astype(np.float32)
        gradient = random.choice([-1.0, 1.0], shape) * random.uniform(0.5, 2.0, shape)
        args = (x, scale, zero, lowest, highest, gradient.astype(np.float32))
        name = f"{name}, zero point {zero} and scale {scale:g}"
        made.append(Case(name, (args,)))
    return made


def _codes(
    random: np.random.Generator, lowest: int, highest: int, zero: int, scale: float, count: int
) -> np.ndarray:
    """Codes with a fraction: none of them half-way between two, and none near that."""
    far = int(max(abs(lowest), abs(highest)) / scale) + abs(zero) + 30.2
    told = [zero, zero - far, zero + far, zero - 0.7, zero + 0.7]
    told += [lowest + beside for beside in (-3.2, -0.8, -0.3, -0.12, 0.02, 0.3)]
    told += [highest - beside for beside in (-2.7, -0.8, -0.3, -0.12, 0.02, 0.3)]
    told += [2 * zero - lowest - 0.1, 2 * zero - highest + 0.1]  # the ends, seen from −x
    below, above = lowest - 6, highest + 7
    whole = random.integers(below, above, count - len(told))
    codes = np.concatenate([told, whole + random.uniform(-0.4, 0.4, len(whole))])
    return np.asarray(random.permutation(codes))


class Exact:
    """A case in doubles: x, the gradient from above, what should come out, and what come back."""

    def __init__(self, case: Case) -> None:
        x, scale, zero, lowest, highest, above = case.args[0]
        self.x: Array = x.astype(np.float64)
        self.above: Array = above.astype(np.float64)
        codes = np.round(self.x / scale) + zero
        self.out: Array = (np.clip(codes, lowest, highest) - zero) * scale
        self.inside: Array = (codes >= lowest) & (codes <= highest)
        self.back: Array = np.where(self.inside, self.above, 0.0)

    def value_at_worst(self, out: Array) -> str:
        """The value that is farthest off, in words."""
        place = _farthest(out, self.out)
        got, right = said_apart(float(out.flat[place]), float(self.out.flat[place]))
        return f"{said(float(self.x.flat[place]))} became {got} and should be {right}"

    def gradient_at_worst(self, gradient: Any) -> str:
        """The gradient that is farthest off, in words."""
        if not is_array(gradient, self.back.shape):
            return f"x's gradient is {describe(gradient)}"
        place = _farthest(gradient, self.back)
        x, above, *pair = (  # no −0
            float(each.flat[place]) + 0.0 for each in (self.x, self.above, gradient, self.back)
        )
        got, right = said_apart(*pair)
        return f"where x is {said(x)} the gradient {said(above)} came back as {got}, not as {right}"


def _farthest(got: Array, want: Array) -> int:
    with np.errstate(all="ignore"):
        return int(np.argmax(np.nan_to_num(np.abs(got - want), nan=np.inf)))


IN_PLACE = (
    "you wrote into x, which other layers may use and autograd may have kept: work on a new "
    "tensor, without `_` at the end of a method's name."
)
SPOILS = (
    "your backward wrote into the gradient that it was given, which another branch of the model "
    "may be given too: make a new one, such as gradient * inside."
)
BY_TORCH = (
    "the values and the gradient are right, and they are torch's: its own function for this was "
    "called. Here you write what that does: an `autograd.Function` out of round, clamp and a mask."
)


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The values, the gradient, and nothing written into."""
    got, n = seen.values[0], Exact(case)
    out = got["out"]
    if not is_array(out, n.x.shape) or out.dtype.kind != "f":
        yield f"you returned {describe(out)}; wanted are floats, one for each of x."
    if not close(out, n.out):
        yield n.value_at_worst(out) + "."
    if not got["linked"]:
        yield "no way leads back from what you returned."
    if not close(got["gradient"], n.back):
        yield n.gradient_at_worst(got["gradient"]) + "."
    for key, words in (("changed", IN_PLACE), ("spoiled", SPOILS), ("torch", BY_TORCH)):
        yield words if got[key] else None


def _gradient(case: Case, seen: Observation) -> Any:
    """What came back to x; zeros where nothing did."""
    gradient = seen.values[0]["gradient"]
    return np.zeros(case.args[0][0].shape) if gradient is None else gradient


def compared(case: Case, seen: Observation) -> Any:
    """What is wrong first, in the order of the claim: what follows from it says nothing more."""
    got, gradient, n = seen.values[0], _gradient(case, seen), Exact(case)
    out = got["out"]
    if not is_array(out, n.x.shape):
        return what(out)
    if out.dtype.kind != "f" or not close(out, n.out):
        return {"values": single(out)}
    if not got["linked"]:
        return "no way back"
    if not close(gradient, n.back):
        return {"gradient": single(gradient) if is_array(gradient) else what(gradient)}
    return {key: got[key] for key in ("changed", "spoiled", "torch")}


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the value and the gradient that are farthest off."""
    if seen.trouble or not is_array(seen.values[0]["out"], case.args[0][0].shape):
        return {}
    n = Exact(case)
    return {
        "value": n.value_at_worst(seen.values[0]["out"]),
        "gradient": n.gradient_at_worst(_gradient(case, seen)),
    }


_count_of_gradients = fails_with(
    "incorrect number of gradients",
    "backward returned another number of values than forward takes arguments: give the "
    "gradient for x, and None for scale, zero_point, lowest and highest.",
)


def _kept_as_a_tuple(case: Case, seen: Observation) -> str | None:
    """Backward computed with ctx.saved_tensors as if it were the tensor."""
    # A tuple takes a tensor times itself for so many repeats, and asks it for a whole number.
    both = "'Tensor' and 'tuple'", "'tuple' and 'Tensor'", "can be converted to an index"
    if seen.trouble != "failed" or not any(words in seen.text for words in both):
        return None
    return (
        "a tuple was taken for a tensor. ctx.saved_tensors is always a tuple, however few were "
        "kept: `(inside,) = ctx.saved_tensors` takes one out."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    inside = sum(int(Exact(case).inside.sum()) for case in cases)
    count = sum(case.args[0][0].size for case in cases)
    return (
        f"Passed on {len(cases)} grids: all {count} values are the nearest ones that there are, "
        f"and the gradient came back to the {inside} that were not clipped, and to no other."
    )


def there_and_back(fn: Function, case: Case) -> Observation:
    """Call `fn(x, …)`, and go back with the gradient that is the last of the case's arguments.

    In between `fn(−x, …)` is called too, as in a model with several layers. x is no leaf, so that
    autograd lets an answer write into it. `values[0]`: "out", what came out;
    "changed", whether x was written into; "linked", whether a way leads back; "gradient", that of
    x, or None; "spoiled", whether the gradient that came from above was written into; "torch",
    whether the way back is that of torch's own fake quantization, None where it is in another
    process.
    """
    trouble = wrong_signature(fn, len(case.args[0]) - 1)
    if trouble:
        return trouble
    start, *others, gradient = (tensors(arg) for arg in case.args[0])
    x = start.requires_grad_().clone()
    before, above = x.detach().clone(), gradient.clone()
    try:
        out = fn(x, *others)
        changed = not torch.equal(x.detach(), before)
        linked = isinstance(out, Tensor) and out.requires_grad
        held, own = plain(out), None if isinstance(fn, Remote) else _is_torchs(out)
        fn((-before).requires_grad_().clone(), *others)
        if linked and out.shape == x.shape:
            out.backward(gradient.to(out.dtype))
    except Exception as error:
        return failed(error, fn)
    found = {
        "out": held,
        "changed": changed,
        "linked": linked,
        "gradient": plain(start.grad),
        "spoiled": not torch.equal(gradient, above),
        "torch": own,
    }
    return Observation(values=[found])


def _is_torchs(out: Any) -> bool:
    """Whether a step of the way back from a tensor has the name of torch's own."""
    waiting, seen = [getattr(out, "grad_fn", None)], set[Any]()
    while waiting:
        step = waiting.pop()
        if step is not None and step not in seen:
            seen.add(step)
            waiting += [before for before, _ in step.next_functions]
    return any(step.name().startswith("FakeQuantize") for step in seen)


def without_a_way(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    codes = torch.round(x / scale) + zero_point
    return (codes.clamp(lowest, highest) - zero_point) * scale


WRONG = """
codes
    | (codes.clamp(lowest, highest) - zero_point) * scale => codes.clamp(lowest, highest)
    ! gives_codes
codes, not clamped
    | (codes.clamp(lowest, highest) - zero_point) * scale => codes
    ! gives_codes
steps
    | - zero_point) * scale => - zero_point)
    ! gives_codes
not clamped
    | codes.clamp(lowest, highest) => codes
    {value}: q is not clamped: beyond lowest and highest there are no codes.
ends taken for values
    | (codes.clamp(lowest, highest) - zero_point) * scale
        => torch.round(x.clamp(lowest, highest) / scale) * scale
    ! ends_as_values
ends taken for values late
    | (codes.clamp(lowest, highest) - zero_point) * scale
        => ((codes - zero_point) * scale).clamp(lowest, highest)
    ! ends_as_values
no zero point
    | codes.clamp(lowest, highest) - zero_point => (codes - zero_point).clamp(lowest, highest)
    {value}: the zero point is left out, and the grid lies elsewhere: add it before you clamp, and
    take it away again afterwards.
zero point stays
    | - zero_point) * scale => ) * scale
    {value}: the zero point was never taken away again: scale · (q − zero_point).
zero point only taken away
    | codes.clamp => (codes - zero_point).clamp
    ! zero_point_leaves
zero point negated
    | codes.clamp(lowest, highest) - zero_point
        => (codes - 2 * zero_point).clamp(lowest, highest) + zero_point
    ! zero_point_leaves
cut off
    | torch.round => torch.trunc
    ! truncates
cut off, with the zero point
    | torch.round(wide / scale) + zero_point => torch.trunc(wide / scale + zero_point)
    ! truncates
rounded down
    | torch.round => torch.floor
    ! truncates
rounded up
    | torch.round => torch.ceil
    ! truncates
not rounded
    | (codes.clamp(lowest, highest) - zero_point) * scale => x.clone()
    ! not_rounded
clamped and not rounded
    | torch.round(wide / scale) => wide / scale
    ! not_rounded
no way back
    | return _StraightThrough.apply(x, => return _StraightThrough.apply(x.detach(),
    the values are right, but what you returned has no `grad_fn`. No way leads back to x: that is
    what `detach`, `no_grad` and whole numbers do. Take x's own way round the rounding.
rounding's own gradient
    = without_a_way
    {gradient}: nothing comes back at all. Rounding has the gradient 0: say what backward does, in
    an `autograd.Function`, or by x + (rounded − x).detach() where x may learn.
everywhere
    | gradient * inside => gradient
    {gradient}: the gradient is 1 everywhere. A value beyond the grid is cut off: moving it a little
    changes nothing: its gradient is 0. Codes tell which, before they are clamped.
times scale
    | (codes >= lowest) & (codes <= highest) => scale * ((codes >= lowest) & (codes <= highest))
    ! times_scale
times scale, everywhere
    | (codes >= lowest) & (codes <= highest) => scale * torch.ones_like(x)
    ! times_scale
over scale
    | (codes >= lowest) & (codes <= highest) => ((codes >= lowest) & (codes <= highest)) / scale
    ! over_scale
over scale, everywhere
    | (codes >= lowest) & (codes <= highest) => torch.ones_like(x) / scale
    ! over_scale
inside by values
    | (codes >= lowest) => (x / scale + zero_point >= lowest)
    | (codes <= highest) => (x / scale + zero_point <= highest)
    {gradient}: x lies beyond the end value by less than half a step and still rounds to the last
    code, so nothing is cut off. Compare codes with lowest and highest, not x with end values.
one end
    | (codes >= lowest) & (codes <= highest) => codes <= highest
    ! one_end
the other end
    | (codes >= lowest) & (codes <= highest) => codes >= lowest
    ! one_end
without the ends
    | codes >= lowest => codes > lowest
    | codes <= highest => codes < highest
    ! without_ends
without the upper end
    | codes <= highest => codes < highest
    ! without_ends
without the lower end
    | codes >= lowest => codes > lowest
    ! without_ends
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
    ! mask_alone
ones
    | gradient * inside => torch.ones_like(gradient)
    ! mask_alone
the last call's
    | ctx.save_for_backward( => _StraightThrough.inside = (
    | (inside,) = ctx.saved_tensors => inside = _StraightThrough.inside
    {gradient}: `fake_quantize` was called once more before backward, as in a model with two layers,
    and backward used what the later call had left. Keep it in `ctx`, by `save_for_backward`, which
    each call has for itself.
writes into x
    | torch.round(wide / scale) => wide.div_(scale).round_()
    ! in_place
writes into the gradient
    | return gradient * inside => gradient[~inside] = 0; return gradient
    ! spoils
torch's own
    | _StraightThrough.apply => torch.fake_quantize_per_tensor_affine
    ! by_torch
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
    stars=3,
    minutes=15,
    points=4,
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
    compared=compared,
    wrong=wrong_answers(
        "11.6",
        WRONG,
        (reference, _StraightThrough),
        without_a_way,
        gives_codes="{value}: these are codes, or steps; values are scale · (q − zero_point).",
        ends_as_values="{value}: lowest and highest are codes: clamp round(x / scale) + "
        "zero_point.",
        zero_point_leaves="{value}: the zero point has to be added: round(x / scale) + zero_point.",
        truncates="{value}: the fraction was cut off and not rounded: up to a whole step is lost, "
        "where `torch.round` loses half a step at most.",
        not_rounded="{value}: x was not rounded: only whole codes q are there.",
        times_scale="{gradient}: it was multiplied by scale. Forward divides by it too: they "
        "cancel.",
        over_scale="{gradient}: it was divided by scale. Forward multiplies by it too: they "
        "cancel.",
        one_end="{gradient}: one end alone was looked at: a code is at least lowest and at most "
        "highest.",
        without_ends="{gradient}: the last codes are codes as well: lowest ≤ q ≤ highest, with "
        "both ends.",
        mask_alone="{gradient}: backward returned 1 and 0: multiply its argument, the gradient, by "
        "them.",
        in_place=IN_PLACE,
        spoils=SPOILS,
        by_torch=BY_TORCH,
    ),
    ranked=False,
    unseen={"torch": "whether the way back is torch's own"},
)
