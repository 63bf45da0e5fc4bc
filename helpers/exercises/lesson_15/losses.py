"""Exercise 15.2, the losses of an actor-critic, and where their gradients go.

`actor_critic_losses(logits, values, actions, targets, advantages)`. The claim: three means,
−A·log π(a), (target − V)², −Σ π·log π, also where an action is barred by a logit of −∞; the first
and the last lead back to the logits alone, the second to the values alone; nothing is written
into. Source: Mnih et al. (2016), section 4 and algorithm S3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from helpers.algorithms.actors.losses import actor_critic_losses as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, describe, is_array, told_apart
from helpers.exercises.drives_actors import FLOATS, LOSSES, losses_there_and_back
from helpers.exercises.lesson_15 import losses_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

# Steps, games and actions, and how many actions are barred at each step; the last has no games.
# In the third all logits of a step are shifted by −30, which is the same policy.
_SHAPES = (((4, 3, 5), 2), ((1, 1, 2), 0), ((3, 2, 9), 4), ((2, 5, 4), 0), ((6, 3), 1))

_SHIFTED = 2


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 games, and one without an axis for games; actions barred in three."""
    random, made = rng(seed, "15.2"), []
    shapes: Sequence[tuple[tuple[int, ...], int]] = _SHAPES
    if seed:
        first = tuple(int(n) for n in random.integers(3, 8, 3))
        shapes = ((first, 1), ((5, 4), 2), ((1, 2, 9), 7), ((2, 1, 3), 0))
    digits = 4 if seed else 2  # a hidden number is none that is shown
    for number, (shape, barred) in enumerate(shapes):
        logits = np.round(random.uniform(-1.5, 1.5, shape), digits)
        logits -= 30.0 if number == _SHIFTED else 0.0
        actions = np.empty(shape[:-1], dtype=np.int64)
        for at in np.ndindex(*shape[:-1]):
            order = random.permutation(shape[-1])
            actions[at] = order[0]
            logits[at][order[1 : 1 + barred]] = -np.inf
        values, targets = (np.round(random.uniform(-1, 1, shape[:-1]), digits) for _ in range(2))
        advantages = np.round(random.uniform(0.2, 2, shape[:-1]), digits)
        advantages *= random.choice([-1, 1], shape[:-1])
        args = ((logits, values, actions, targets, advantages),)
        name = f"With {count(int(actions.size), 'step')} of {shape[-1]} actions"
        name += f", of which {barred} may not be taken" if barred else ""
        name += ", with logits of about −30" if number == _SHIFTED else ""
        facts = losses_there_and_back(reference, Case(name, args)).values[0]
        made.append(Case(name, args, facts=facts))
    return made


def fault(case: Case, seen: Observation) -> tuple[str, str] | None:
    """What is wrong first, as ("form", "values" or a loss, words); None where nothing is."""
    got, want = seen.values[0], case.facts
    given = got["given"]
    if not isinstance(given, tuple | list) or len(given) != 3:
        return "form", f"you returned {describe(given)}; wanted are three losses"
    for name, mine, right in zip(LOSSES, given, want["given"], strict=True):
        if type(mine) in (int, float):
            return "form", f"the {_named(name)} is a plain number of Python's, {mine:.5g}".replace(
                "-", "−"
            )
        if not is_array(mine, ()):
            return "form", f"the {name} loss is {describe(mine)}; it should be a single number"
        if not close(mine, right, 1e-6):
            one, other = told_apart(float(mine), float(right))
            one = "not a number (NaN)" if np.isnan(mine) else one
            return "values", f"the {_named(name)} is {one} and should be {other}".replace("-", "−")
    for at, name in enumerate(LOSSES):
        for to in FLOATS:
            mine, right = (_gradient(one, at, case, to) for one in (got, want))
            if is_array(mine, right.shape) and close(mine, right, 1e-6):
                continue
            words = f"the three numbers are right, but the {_named(name)}'s gradient"
            if not right.any():
                return name, f"{words} reaches the {to}, where none should go"
            if is_array(mine) and np.isnan(mine).any():
                return name, f"{words} with respect to the {to} is not a number (NaN)"
            if is_array(mine) and not mine.any():
                return name, f"{words} does not reach the {to}"
            return name, f"{words} with respect to the {to} is not the right one"
    return None


def _named(loss: str) -> str:
    return loss if loss == "entropy" else f"{loss} loss"


def _gradient(found: Mapping[str, Any], loss: int, case: Case, to: str) -> Any:
    """A gradient of a loss; zeros where no way leads there."""
    at = FLOATS.index(to)
    held, given = found["gradients"][loss][at], case.args[0][(0, 1, 3, 4)[at]]
    return np.zeros(given.shape) if held is None else held


def claim(case: Case, seen: Observation) -> str | None:
    """The three means, their gradients, and nothing written into."""
    found = fault(case, seen)
    return f"{case.name}, {found[1]}." if found else wrote(case, seen)


def wrote(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    name = seen.values[0]["changed"]
    if name not in (*FLOATS, "actions"):
        return None
    return (
        f"{case.name}, you wrote into `{name}`, which belongs to the caller: compute with new "
        "tensors, without `_` at the end of a method's name."
    )


def turned(case: Case, seen: Observation) -> str | None:
    """The right numbers in another order."""
    given, want = seen.values[0]["given"], case.facts["given"]
    if not all(is_array(one, ()) for one in given) or len(given) != len(want):
        return None
    for order in permutations(range(len(want))):
        pairs = zip(given, (want[at] for at in order), strict=True)
        if order != (0, 1, 2) and all(close(one, right, 1e-6) for one, right in pairs):
            names = ", ".join(LOSSES[at] for at in order)
            return (
                f"{case.name}, the three numbers are right, and come in another order: {names}. "
                f"Return them as `{', '.join(LOSSES)}`."
            )
    return None


def compared(case: Case, seen: Observation) -> Any:
    """What is wrong first: the form, the numbers, or the gradients."""
    found, got = fault(case, seen), seen.values[0]
    if found is None:
        return got["changed"]
    if found[0] == "form":
        given = got["given"]
        if isinstance(given, tuple | list) and any(type(one) is float for one in given):
            return "plain numbers"
        return given if is_array(given) else describe(given)
    if found[0] == "values":
        return [np.asarray(one, dtype=np.float64) for one in got["given"]]
    return [[_gradient(got, at, case, to) for to in FLOATS] for at in range(len(LOSSES))]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first fault."""
    found = fault(case, seen)
    return {"fault": found[1] if found else ""}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    entropy = float(seen[0].values[0]["given"][2])
    open_ones = int(np.isfinite(cases[0].args[0][0][0, 0]).sum())
    return (
        f"Passed on {len(cases)} sets of steps. In the first the policy's entropy is {entropy:.3f} "
        f"nats; {open_ones} open actions allow ln {open_ones} = {np.log(open_ones):.3f} at most."
    )


EXERCISE = Exercise(
    number="15.2",
    title="Three losses",
    stars=2,
    minutes=12,
    points=3,
    function="actor_critic_losses",
    asks=(
        "three means over all steps: −A·log π(a), (target − V)², and the entropy −Σ π·log π, "
        "finite also where a logit is −∞; gradients reach the logits by the first and the last, "
        "the values by the second, targets and advantages never."
    ),
    cases=cases,
    drive=losses_there_and_back,
    claim=claim,
    mistakes=(
        Mistake("writes into what it is given", wrote),
        Mistake("in another order", turned),
    ),
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=compared,
    wrong=(
        WrongAnswer("NaN where an action is barred", wrong.nan, wrong.NAN),
        WrongAnswer("barred by a number", wrong.by_a_number, wrong.BY_A_NUMBER),
        WrongAnswer("NaN on the way back", wrong.nan_back, wrong.NAN_BACK),
        WrongAnswer("through the advantage", wrong.by_advantage, wrong.BY_ADVANTAGE),
        WrongAnswer("through the target", wrong.by_target, wrong.BY_TARGET),
        WrongAnswer("through both", wrong.by_both, wrong.BY_BOTH),
        WrongAnswer("no gradient for the value", wrong.value_detached, wrong.VALUE_DETACHED),
        WrongAnswer("the policy's sign", wrong.policy_sign, wrong.POLICY_SIGN),
        WrongAnswer("the entropy's sign", wrong.entropy_sign, wrong.ENTROPY_SIGN),
        WrongAnswer("sums", wrong.sums, wrong.SUMS),
        WrongAnswer("entropy over the actions' number", wrong.entropy_mean, wrong.ENTROPY_MEAN),
        WrongAnswer("entropy of what was done", wrong.entropy_of_done, wrong.ENTROPY_OF_DONE),
        WrongAnswer("the probability", wrong.probability, wrong.PROBABILITY),
        WrongAnswer("the logit", wrong.raw_logit, wrong.RAW_LOGIT),
        WrongAnswer("half the square", wrong.half_square, wrong.HALF_SQUARE),
        WrongAnswer("the distance", wrong.distance, wrong.DISTANCE),
        WrongAnswer("the likeliest action", wrong.likeliest, wrong.LIKELIEST),
        WrongAnswer("the advantage squared", wrong.squared_advantage, wrong.SQUARED_ADVANTAGE),
        WrongAnswer("an advantage of its own", wrong.own_advantage, wrong.OWN_ADVANTAGE),
        WrongAnswer("along the steps", wrong.along_first, wrong.ALONG_FIRST),
        WrongAnswer("along the second axis", wrong.along_second, wrong.ALONG_SECOND),
        WrongAnswer("log of softmax", wrong.log_of_softmax, wrong.LOG_OF_SOFTMAX),
        WrongAnswer("entropy over open actions", wrong.over_open, wrong.OVER_OPEN),
        WrongAnswer("the target for the advantage", wrong.target_weighs, wrong.TARGET_WEIGHS),
        WrongAnswer("a number a step", wrong.by_step, wrong.BY_STEP),
        WrongAnswer("plain numbers", wrong.items, wrong.ITEMS),
        WrongAnswer("one sum of all", wrong.in_one, wrong.IN_ONE),
        WrongAnswer("the value first", wrong.another_order, hint="order: value, policy, entropy"),
        WrongAnswer("the entropy second", wrong.entropy_second, hint="policy, entropy, value"),
        WrongAnswer("into the logits", wrong.into_logits, hint="wrote into `logits`"),
    ),
    ranked=False,
)
