"""Exercise 10.3, the largest numbers, and a memory for the rest: top-k with error feedback.

`send_largest(gradient, error, count) -> (places, values, error)`, called for one gradient after the
other, each time with the error of the call before. The claim: at every step exactly `count` places
travel, those where gradient + error is largest by absolute value, ascending, int64, with what
stands there; the new error is the rest, so that what was sent and what is owed add up to all
gradients; what is given stays as it is. Source: Stich et al. (2018), algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.compression.feedback import send_largest as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, is_array, rounded, told_apart
from helpers.exercises.drives_feedback import step_by_step
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_10 import largest_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Array = np.ndarray
_SHAPES = [(5, 6, 2, True), (6, 7, 3, False), (3, 5, 1, True), (2, 4, 4, True), (2, 1, 1, False)]


def cases(seed: int) -> list[Case]:
    """Seed 0: 5 steps with some owed already, 6 from nothing owed, 1 of 5, all, one number alone;
    then gradients in which numbers are equal or zero."""
    random, made = rng(seed, "10.3"), []
    shapes = _SHAPES
    if seed:
        sizes = [int(n) for n in random.integers(6, 12, 3)]
        shapes = [
            (6, n, int(random.integers(2, n // 2 + 1)), at != 1) for at, n in enumerate(sizes)
        ]
        shapes += [(4, int(random.integers(5, 9)), 1, True), (2, 3, 3, True)]
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
    places = np.array(item[0]) if type(item[0]) is list else item[0]
    if not all(map(is_array, (places, *item[1:]))) or places.dtype.kind not in "iu":
        return None
    values, left = item[1:]
    if places.ndim == 1 and places.shape == values.shape:
        order = np.argsort(places, kind="stable")
        places, values = places[order], values[order]
    return places, values, left


def fault(case: Case, seen: Observation) -> tuple[int, str, float] | None:
    """The step (from 1) of the first wrong number, what is wrong, and what was owed there; whatever
    their types, and the order of the places."""
    (gradients, error, k), n = case.args[0], len(case.args[0][1])
    for step, gradient in enumerate(gradients, 1):
        item, wanted, told = (
            returned(seen.values[0])[step - 1],
            gradient + error,
            f"at step {step},",
        )
        found = parts(item)
        if found is None:
            three = "return three tensors, places in int64, values and the new error"
            return step, f"{told} `send_largest` gave {describe(item, 80)}: {three}.", 0.0
        places, values, left = found
        if [places.shape, values.shape, left.shape] != [(k,), (k,), (n,)]:
            words = f"places, values and error have the shapes {places.shape}, {values.shape} and"
            words = f"{words} {left.shape}; they should have {(k,)}, {(k,)} and {(n,)}"
            return step, f"{told} {words}.", 0.0
        others = np.setdiff1d(range(n), places)
        if len(others) != n - k:
            return step, f"{told} the places are {describe(places)}: other ones, each once.", 0.0
        least = places[_order(wanted[places])[-1]]
        most = max(others, key=lambda at: abs(wanted[at]), default=least)
        if abs(wanted[most]) > abs(wanted[least]):
            one, other = _apart(wanted[least], wanted[most])
            words = f"place {least} was sent, where gradient + error is {one}, and place {most} was"
            return step, f"{told} {words} not, where it is {other}.", error[most]
        right, rest = wanted[places], np.where(np.isin(range(n), places), 0.0, wanted)
        if why := rounded([np.append(values, left)], [np.append(right, rest)]):
            return step, f"{told} the numbers are not exact{why}.", 0.0
        off = np.abs(values - right), np.abs(left - rest)
        if not off[0].max() <= 1e-12 * np.abs(wanted).max():
            at = int(off[0].argmax())
            got, want = _apart(values[at], right[at])
            words = f"{got} was sent for place {places[at]}, where gradient + error is {want}"
            return step, f"{told} {words}.", error[places[at]]
        if not off[1].max() <= 1e-12 * np.abs(wanted).max():
            at = int(off[1].argmax())
            got, want = _apart(left[at], rest[at])
            was = "was sent" if at in places else "was not sent"
            words = f"the new error is {got} at place {at}, which {was}; it should be {want}"
            return step, f"{told} {words}.", error[at]
        error = left
    return None


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


def claim(case: Case, seen: Observation) -> str | None:
    """The right numbers at every step, in the right form, and nothing written into."""
    if found := fault(case, seen):
        return f"{case.name}, {found[1]}"
    if other := form(case, seen):
        ask = "return tensors, the places ascending in int64, the numbers in the gradient's type"
        return f"{case.name}, at step {other[0]} {other[1]}: {ask}."
    return wrote(case, seen)


def wrote(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    place = changed(seen.values[0])
    if place not in (0, 1):
        return None
    return (
        f"{case.name}, you wrote into `{('gradient', 'error')[place]}`, which belongs to the "
        "caller: work on a tensor of your own, such as `gradient + error`. `+=` and functions "
        "whose names end in `_` change their tensor."
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


EXERCISE = Exercise(
    number="10.3",
    title="The largest, and a memory for the rest",
    stars=3,
    minutes=15,
    points=4,
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
    wrong=(
        WrongAnswer("no memory", wrong.forgets, wrong.FORGETS),
        WrongAnswer("chosen by the gradient alone", wrong.by_gradient, wrong.BY_GRADIENT),
        WrongAnswer("the gradient's numbers sent", wrong.of_gradient, wrong.OF_GRADIENT),
        WrongAnswer("the error subtracted", wrong.subtracts, wrong.SUBTRACTS),
        WrongAnswer("a part of the error", wrong.decays, wrong.DECAYS),
        WrongAnswer("everything without its sign", wrong.all_positive, wrong.SIGN),
        WrongAnswer("values without their sign", wrong.absolute, wrong.SIGN),
        WrongAnswer("chosen with the sign", wrong.signed, wrong.SIGNED),
        WrongAnswer("the smallest", wrong.smallest, wrong.SMALLEST),
        WrongAnswer("one too few", wrong.above, wrong.ABOVE),
        WrongAnswer("equal ones too", wrong.from_it_on, wrong.FROM_IT_ON),
        WrongAnswer("no zeros", wrong.no_zeros, wrong.NO_ZEROS),
        WrongAnswer("values by size", wrong.by_size, wrong.BY_SIZE),
        WrongAnswer("zeroed, then read", wrong.zeroed_first, wrong.ZEROED_FIRST),
        WrongAnswer("a value for every place", wrong.dense, wrong.DENSE),
        WrongAnswer("taken off the gradient", wrong.off_gradient, wrong.OLD_LOST),
        WrongAnswer("the gradient's rest", wrong.of_the_gradient, wrong.OLD_LOST),
        WrongAnswer("sent and still owed", wrong.not_zeroed, wrong.NOT_ZEROED),
        WrongAnswer("nothing owed", wrong.owes_nothing, wrong.OWES_NOTHING),
        WrongAnswer("the error not renewed", wrong.as_it_was, wrong.AS_IT_WAS),
        WrongAnswer("what was sent is owed", wrong.kept_sent, wrong.KEPT_SENT),
        WrongAnswer("the error's sign", wrong.turned, wrong.TURNED),
        WrongAnswer("the old error twice", wrong.twice, wrong.TWICE),
        WrongAnswer("in another order", wrong.unsorted, wrong.UNSORTED),
        WrongAnswer("places of the order", wrong.second_sort, wrong.SECOND_SORT),
        WrongAnswer("values before places", wrong.swapped, wrong.SWAPPED),
        WrongAnswer("places in int32", wrong.in_int32, claim),
        WrongAnswer("places in a list", wrong.a_list, claim),
        WrongAnswer("float32", wrong.in_float32, claim),
        WrongAnswer("into the gradient", wrong.into_gradient, hint="wrote into `gradient`"),
        WrongAnswer("into the error", wrong.into_error, hint="wrote into `error`"),
    ),
    ranked=False,
)
