"""Exercise 10.3, the largest numbers, and a memory for the rest: top-k with error feedback.

`send_largest(gradient, error, count) -> (places, values, error)`, called for one gradient after the
other, each time with the error of the call before. The claim: at every step exactly `count` places
travel, those where gradient + error is largest by absolute value, ascending, int64, with what
stands there; the new error is the rest, so that what was sent and what is owed add up to all
gradients; what is given stays as it is. Source: Stich et al. (2018), algorithm 1.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.compare import count, describe, is_array, rounded, told_apart
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.requests import CHANGED, changed, returned
from helpers.checks.drives.values import plain, tensors
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.fewer_bits.algorithms.feedback import send_largest as reference

Array = np.ndarray


def cases(seed: int) -> list[Case]:
    """Seed 0: 5 steps with some owed already, 6 from nothing owed, 1 of 5, all, one number alone;
    then gradients in which numbers are equal or zero."""
    random, made = rng(seed, "10.3"), []
    shapes = [(5, 6, 2, 1), (6, 7, 3, 0), (3, 5, 1, 1), (2, 4, 4, 1), (2, 1, 1, 0)]
    if seed:
        sizes = zip(map(int, random.integers(6, 12, 3)), (1, 0, 1), strict=True)
        shapes = [(6, n, int(random.integers(2, n // 2 + 1)), owed) for n, owed in sizes]
        shapes += [(4, int(random.integers(5, 9)), 1, 1), (2, 3, 3, 1)]
    for steps, n, k, owed in shapes:
        telling = False
        while not telling:
            gradients = np.round(random.standard_normal((steps, n)) * 2, 1)
            gradients[:, random.integers(n)] = round(float(random.uniform(0.5, 0.9)), 1)
            error = np.round(random.standard_normal(n), 1) * owed
            telling = _is_telling(gradients, error, k)
        name = f"Over {count(steps, 'step')}, {k} of {count(n, 'number')} each"
        made.append(Case(name, ((gradients, error, k),)))
    equal = random.permutation([3.0, -2.0, 2.0, 0.0, -2.0, 2.0])
    few = np.where(equal == 3.0, 1.5, 0.0)
    made.append(Case("With equal numbers, and zeros", ((np.stack([few, equal]), few * 0, 3),)))
    return made


def _order(given: Array) -> list[int]:
    """Places, the largest first."""
    return [int(at) for at in np.argsort(-np.abs(given), kind="stable")]


def _is_telling(gradients: Array, error: Array, k: int) -> bool:
    """No close calls; and where several of more travel: one that is never among the largest of its
    gradient, one below 0, and some whose order by size is not that of their places."""
    late = below = mixed = not 1 < k < len(error)
    often = {at for gradient in gradients for at in _order(gradient)[:k]}
    for gradient in gradients:
        wanted = gradient + error
        order = _order(wanted)
        sizes = np.append(np.abs(wanted[order]), 0)
        if sizes[k - 1] - sizes[k] < 0.05 or sizes[-2] < 0.05:
            return False
        late |= not set(order[:k]) <= often
        below |= bool((wanted[order[:k]] < 0).any())
        mixed |= order[:k] != sorted(order[:k])
        error = np.where(np.isin(range(len(error)), order[:k]), 0.0, wanted)
    return late and below and mixed


def parts(item: Any) -> tuple[Array, Array, Array] | None:
    """What a step gave, by ascending places, which may be a list; None where it is no such thing"""
    if type(item) not in (tuple, list) or len(item) != 3:
        return None
    places, values, left = item
    places = np.array(places) if type(places) is list else places
    if not all(map(is_array, (places, values, left))) or places.dtype.kind not in "iu":
        return None
    if places.ndim == 1 and places.shape == values.shape:
        order = np.argsort(places, kind="stable")
        places, values = places[order], values[order]
    return places, values, left


def fault(case: Case, seen: Observation) -> tuple[int, str, float] | None:
    """The step (from 1) of the first wrong number, what is wrong, and what was owed there; whatever
    their types, and the order of the places."""
    (gradients, error, k), items = case.args[0], returned(seen.values[0])
    for step, gradient in enumerate(gradients, 1):
        for words, owed in _faults(items[step - 1], gradient + error, error, k):
            return step, f"at step {step}, {words}.", owed
        error = items[step - 1][2]
    return None


def _faults(item: Any, wanted: Array, error: Array, k: int) -> Iterator[tuple[str, float]]:
    """What is wrong with what a step gave, and what was owed there."""
    found, n = parts(item), len(wanted)
    if found is None:
        three = "return three tensors, places in int64, values and the new error"
        yield f"`send_largest` gave {describe(item, 80)}: {three}", 0.0
        return
    places, values, left = found
    if [places.shape, values.shape, left.shape] != [(k,), (k,), (n,)]:
        words = f"places, values and error have the shapes {places.shape}, {values.shape} and"
        yield f"{words} {left.shape}; they should have {(k,)}, {(k,)} and {(n,)}", 0.0
    others = np.setdiff1d(range(n), places)
    if len(others) != n - k:
        yield f"the places are {describe(places)}: other ones, each once", 0.0
    least = places[_order(wanted[places])[-1]]
    most = max(others, key=lambda at: abs(wanted[at]), default=least)
    if abs(wanted[most]) > abs(wanted[least]):
        one, other = _apart(wanted[least], wanted[most])
        words = f"place {least} was sent, where gradient + error is {one}, and place {most} was"
        yield f"{words} not, where it is {other}", error[most]
    right, rest = wanted[places], np.where(np.isin(range(n), places), 0.0, wanted)
    if why := rounded([np.append(values, left)], [np.append(right, rest)]):
        yield f"the numbers are not exact{why}", 0.0
    off = np.abs(values - right), np.abs(left - rest)
    tolerance = 1e-12 * np.abs(wanted).max()
    if not off[0].max() <= tolerance:
        at = int(off[0].argmax())
        got, want = _apart(values[at], right[at])
        words = f"{got} was sent for place {places[at]}, where gradient + error is {want}"
        yield words, error[places[at]]
    if not off[1].max() <= tolerance:
        at = int(off[1].argmax())
        got, want = _apart(left[at], rest[at])
        was = "was sent" if at in places else "was not sent"
        yield f"the new error is {got} at place {at}, which {was}; it should be {want}", error[at]


def _apart(*both: float) -> list[str]:
    return [text.replace("-", "−") for text in told_apart(*(float(each) + 0.0 for each in both))]


def form(case: Case, seen: Observation) -> tuple[int, str] | None:
    """The first step where right numbers are not in the form that was asked for, and how."""
    for step, item in enumerate(returned(seen.values[0]), 1):
        kinds = [str(getattr(each, "dtype", "a list")) for each in item]
        if kinds != ["int64", "float64", "float64"]:
            return step, f"the places are {kinds[0]} and the numbers {kinds[1]} and {kinds[2]}"
        if (np.diff(item[0]) < 0).any():
            return step, "the places are not in ascending order"
    return None


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The right numbers at every step, in the right form, and nothing written into."""
    if found := fault(case, seen):
        yield found[1]
    if other := form(case, seen):
        ask = "return tensors, the places ascending in int64, the numbers in the gradient's type"
        yield f"at step {other[0]} {other[1]}: {ask}."
    yield from wrote(case, seen)


def wrote(case: Case, seen: Observation) -> Iterator[str]:
    """Something that was handed in has changed."""
    place = changed(seen.values[0])
    if place in (0, 1):
        yield (
            f"you wrote into `{('gradient', 'error')[place]}`, which belongs to the caller: work "
            "on a tensor of your own, such as `gradient + error`. `+=` and functions whose names "
            "end in `_` change their tensor."
        )


def compared(case: Case, seen: Observation) -> Any:
    """The numbers, whatever their form; where they are right, the form."""
    if fault(case, seen) is None:
        return [form(case, seen), changed(seen.values[0])]
    found = [parts(item) for item in returned(seen.values[0])]
    return [None if each is None else [part.astype(float) for part in each] for each in found]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first fault, and what was owed there."""
    step, words, owed = fault(case, seen) or (*(form(case, seen) or (1, "")), 0.0)
    (_, error, k), said = case.args[0], f"{owed:.5g}".replace("-", "−")
    return {"fault": words, "step": step, "owed": said, "n": len(error), "count": k}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    (gradients, _, k), steps = cases[0].args[0], returned(seen[0].values[0])
    often = {at for gradient in gradients for at in _order(gradient)[:k]}
    sent = [(at, step) for step, item in enumerate(steps, 1) for at in item[0]]
    place, step = next(each for each in sent if each[0] not in often)
    return (
        f"Passed: over {count(len(steps), 'step')} what was sent and what is still owed add up to "
        f"all gradients. Place {place}, never among the {k} largest of its gradient, travelled at "
        f"step {step}."
    )


def step_by_step(fn: Function, case: Case) -> Observation:
    """Call `fn(gradient, error, count)` for each gradient, with what it owes by then.

    The case's arguments: the gradients, one a row, the first error, and the count. Gradients come
    in one tensor, each in its turn. `values[0]`: the list of what it gave, as long as the third
    thing was an error to go on with; {"changed": place, "returned": list} where it wrote into its
    gradient (0) or the error (1).
    """
    if trouble := wrong_signature(fn, 3):
        return trouble
    gradients, error, k = tensors(case.args[0])
    place, gave, written = torch.empty_like(gradients[0]), list[Any](), list[int]()
    try:
        for gradient in gradients:
            place.copy_(gradient)
            before = error.clone()
            value = fn(place, error, k)
            gave.append(plain(value))
            for at, (now, was) in enumerate(((place, gradient), (error, before))):
                if now.shape != was.shape or not torch.allclose(now, was, 0, 0, equal_nan=True):
                    written.append(at)
            left = value[2] if isinstance(value, tuple | list) and len(value) == 3 else None
            left = torch.from_numpy(left) if isinstance(left, np.ndarray) else left
            if not isinstance(left, Tensor) or left.shape != error.shape:
                break
            error = left
    except Exception as problem:
        return failed(problem, fn)
    held = {CHANGED: written[0], "returned": gave} if written else gave
    return Observation(values=[held])


WRONG = """
no memory
    | gradient + error => gradient.clone()
    {fault} The error took no part: what a step leaves out is lost, and a number that is always
    small never travels. Choose from gradient + error, send of it, and keep the rest of it.
chosen by the gradient alone
    | wanted.abs() => gradient.abs()
    {fault} The gradient alone chose the places: so a number that is small at every step waits for
    ever, however much of it is owed. Choose by gradient + error.
the gradient's numbers sent
    | wanted[places] => gradient[places]
    {fault} The gradient's own number was sent: {owed} is owed there and goes with it.
the error subtracted
    | gradient + error => gradient - error
    {fault} The error was subtracted: it is what is still owed, so add it to the gradient.
a part of the error
    | gradient + error => gradient + 0.9 * error
    {fault} Only 0.9 of the error was added, and the rest of what is owed is lost: add all.
everything without its sign
    | gradient + error => (gradient + error).abs()
    {fault} The sign is lost: only the choice is by absolute value. Find the places by `.abs()`;
    what is sent and what is left comes from gradient + error itself.
values without their sign
    | wanted[places] => wanted[places].abs()
    {fault} The sign is lost: only the choice is by absolute value. Find the places by `.abs()`;
    what is sent and what is left comes from gradient + error itself.
chosen with the sign
    | .abs() =>
    {fault} The largest are meant by absolute value, and so −3 is larger than 2: `.abs()`.
the smallest
    | topk(count) => topk(count, largest=False)
    {fault} These are the smallest by absolute value: the largest travel, the others wait.
one too few
    | wanted.abs().topk(count).indices.sort().values
        => (wanted.abs() > wanted.abs().topk(count).values[-1]).nonzero().view(-1)
    {fault} The smallest of the {count} largest is missing, as where numbers are compared with it by
    `>`, or where fewer than `count` are chosen: take the places that `topk(count)` gives.
equal ones too
    | wanted.abs().topk(count).indices.sort().values
        => (wanted.abs() >= wanted.abs().topk(count).values[-1]).nonzero().view(-1)
    {fault} All that are as large as the smallest of the {count} largest were sent: where several
    are equal, or zero, these are more than `count`. Take the places that `topk` gives.
places in int32
    | return places, => return places.int(),
    at step {step} {fault}: return tensors, the places ascending in int64, the numbers in the
    gradient's type.
places in a list
    | return places, => return places.tolist(),
    at step {step} {fault}: return tensors, the places ascending in int64, the numbers in the
    gradient's type.
float32
    | gradient + error => (gradient + error).float().double()
    {fault}
no zeros
    | .sort().values => .sort().values; places = places[wanted[places] != 0]
    {fault} Zeros among the {count} largest were left out, as `nonzero()` does. Always `count`
    numbers travel, so that whoever receives knows how many come.
values by size
    | wanted[places] => wanted[wanted.abs().topk(count).indices]
    {fault} The places are in ascending order and the values by size: each value stands where its
    place does. Sort the places first, then take the values there.
zeroed, then read
    | wanted[places] => wanted[places] * 0
    {fault} All values are zero: what was sent is set to zero in the sum before it is read. Take the
    values first.
a value for every place
    | wanted[places] => wanted - wanted.index_fill(0, places, 0.0)
    {fault} `values` has all {n} numbers, with zeros where nothing is sent: return the {count} at
    the places alone.
taken off the gradient
    | wanted.index_fill(0, places, 0.0)
        => gradient - (wanted - wanted.index_fill(0, places, 0.0))
    {fault} The new error comes from the gradient alone, so what was owed before is lost: keep
    what is left of gradient + error.
the gradient's rest
    | wanted.index_fill => gradient.index_fill
    {fault} The new error comes from the gradient alone, so what was owed before is lost: keep what
    is left of gradient + error.
sent and still owed
    | wanted.index_fill(0, places, 0.0) => wanted.clone()
    {fault} What was sent is owed no more, or it would be sent once more: put zeros into the new
    error at the places.
nothing owed
    | wanted.index_fill(0, places, 0.0) => wanted.new_zeros(len(wanted))
    {fault} The new error is all zeros: what was not sent now is lost. Keep it.
the error not renewed
    | wanted.index_fill(0, places, 0.0) => error.clone()
    {fault} The error came back as it was: return what is left of gradient + error.
what was sent is owed
    | wanted.index_fill => wanted - wanted.index_fill
    {fault} The new error holds what was sent. It is the other part, what was not sent.
the error's sign
    | wanted.index_fill => -wanted.index_fill
    {fault} The new error has the wrong sign: gradient + error, less what was sent.
the old error twice
    | wanted.index_fill => (wanted + error).index_fill
    {fault} The old error counts twice: gradient + error holds it already. What is left of that sum
    takes the old error's place.
in another order
    | .sort().values =>
    at step {step}, places and values are right, but not in ascending order of the places: `topk`
    gives the largest first. Sort the places, `indices.sort().values`, then take the values there.
places of the order
    | .sort().values => .sort().indices
    {fault} `sort()` gives the sorted places, and where each stood before: `.values` are the places,
    `.indices` are not.
values before places
    | places, wanted[places] => wanted[places], places
    {fault} The places come first, then the numbers there.
into the gradient
    | wanted = gradient + error => wanted = gradient; wanted += error
    | .index_fill => .index_fill_
    ? wrote into `gradient`
into the error
    | wanted = gradient + error => wanted = error; wanted += gradient
    | .index_fill => .index_fill_
    ? wrote into `error`
"""

EXERCISE = Exercise(
    number="10.3",
    title="The largest, and a memory for the rest",
    size=Size(stars=3, minutes=15, points=4),
    function="send_largest",
    asks=(
        "(places, values, error): exactly `count` places, where gradient + error is largest by "
        "absolute value, ascending and int64, the values there, and what is left of gradient + "
        "error, with zeros at the places; gradient and error stay as they are."
    ),
    cases=cases,
    drive=step_by_step,
    claim=claim,
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=compared,
    mistakes=(Mistake("writes into what it is given", wrote),),
    wrong=wrong_answers("10.3", WRONG, reference),
    ranked=False,
)
