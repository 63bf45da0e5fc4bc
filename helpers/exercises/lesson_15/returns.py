"""Exercise 15.1, n-step returns: what each step was worth, from the last to the first.

`n_step_returns(rewards, discounts, bootstrap)`. The claim: R_t = r_t + γ_t·R_{t+1}, with the
bootstrap behind the last step, for each game of its own; nothing given is written into. Source:
Mnih et al. (2016), algorithm S3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.actors.returns import n_step_returns as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, describe, is_array, told_apart
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_15 import returns_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Array = np.ndarray
_SHAPES = ((5, 3), (1, 2), (4, 1), (3, 5), (6,))  # steps, games; the last one has no games' axis


def cases(seed: int) -> list[Case]:
    """Seed 0: 5 steps of 3 games, 1 of 2, 4 of 1, 3 of 5, and 6 of a single one without an axis.

    In the first, third and last some episodes end on the way, at the last step too.
    """
    random, made = rng(seed, "15.1"), []
    shapes: Sequence[tuple[int, ...]] = _SHAPES
    if seed:
        steps, games = (int(n) for n in random.integers(6, 10, 2))
        shapes = ((steps, 3), (1, 1), (steps, games), (4, 2), (steps,))
    digits = 3 if seed else 1  # a hidden number is none that is shown
    for at, shape in enumerate(shapes):
        rewards = random.uniform(0.2, 2.0, shape) * random.choice([-1, 1], shape)
        rewards = np.round(rewards, digits)
        discounts = np.round(random.uniform(0.5, 0.95, shape), digits + 1)
        ends = at in (0, 2, 4)
        if ends:
            flat = discounts.reshape(shape[0], -1)
            flat[shape[0] // 2, 0] = 0.0
            flat[-1, -1] = 0.0 if flat.shape[1] > 1 else flat[-1, -1]
        bootstrap = np.asarray(np.round(random.uniform(1.0, 3.0, shape[1:]), digits))
        of = "one game, without an axis for games" if len(shape) < 2 else count(shape[1], "game")
        name = f"Over {count(shape[0], 'step')} of {of}"
        name += ", some ending on the way" if ends else ""
        made.append(Case(name, ((rewards, discounts, bootstrap),)))
    return made


def right(case: Case) -> Array:
    """The returns, in doubles."""
    rewards, discounts, after = case.args[0]
    found = np.empty_like(rewards)
    for step in reversed(range(len(rewards))):
        found[step] = after = rewards[step] + discounts[step] * after
    return found


def fault(case: Case, seen: Observation) -> str | None:
    """What is wrong first, coming from the end, in words; None where nothing is."""
    got, want = returned(seen.values[0]), right(case)
    if not is_array(got, want.shape):
        return f"you returned {describe(got)}; wanted is a tensor of shape {want.shape}"
    if close(got, want):
        return None
    off = ~(np.abs(got - want) <= 1e-5 * np.abs(want).max())
    step = int(np.flatnonzero(off.reshape(len(want), -1).any(1))[-1])
    game = int(np.flatnonzero(off[step])[0]) if want.ndim > 1 else None
    place = (step,) if game is None else (step, game)
    which = "" if game is None else f" of game {game}"
    one, other = told_apart(float(got[place]) + 0.0, float(want[place]) + 0.0)  # no −0
    rewards, discounts, _ = case.args[0]
    brought, factor = f"{rewards[place]:g}", f"{discounts[place]:g}"
    told = f"it brought {brought} and its discount is {factor}"
    return f"the return of step {step}{which} is {one} and should be {other} ({told})".replace(
        "-", "−"
    )


def claim(case: Case, seen: Observation) -> str | None:
    """The returns, and nothing written into."""
    said = fault(case, seen)
    return f"{case.name}, {said}." if said else wrote(case, seen)


def wrote(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    place = changed(seen.values[0])
    if place is None:
        return None
    name = ("rewards", "discounts", "bootstrap")[place]
    return (
        f"{case.name}, you wrote into `{name}`, which belongs to the caller: put the returns into "
        "a tensor of your own, such as `torch.empty_like(rewards)`. `+=`, `*=` and functions whose "
        "names end in `_` change their tensor."
    )


def listed(case: Case, seen: Observation) -> str | None:
    """A list of tensors, a row each, in the place of one tensor."""
    got, rows = returned(seen.values[0]), len(case.args[0][0])
    if not isinstance(got, list | tuple) or not all(map(is_array, got)) or len(got) != rows:
        return None
    return (
        f"{case.name}, you returned a list of {count(rows, 'tensor')}. Make one tensor of them, "
        "with the steps in front: `torch.stack(found)`."
    )


def compared(case: Case, seen: Observation) -> Any:
    """The numbers; where they are right, what was written into."""
    if fault(case, seen) is None:
        return changed(seen.values[0])
    return returned(seen.values[0])


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first fault, from the end."""
    return {"fault": fault(case, seen) or ""}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    want = right(cases[0])[:, 0]
    ended = len(want) // 2
    return (
        f"Passed on {len(cases)} sets of games. In the first, game 0 ends with step {ended}: the "
        f"returns up to there are {describe(np.round(want[: ended + 1], 3))}, whatever came after."
    )


EXERCISE = Exercise(
    number="15.1",
    title="What a step was worth",
    stars=1,
    minutes=8,
    points=2,
    function="n_step_returns",
    asks=(
        "R_t = r_t + γ_t · R_{t+1} for every step of every game, with the bootstrap as what comes "
        "after the last step; rewards, discounts and bootstrap stay as they are."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=(
        Mistake("writes into what it is given", wrote),
        Mistake("a list of tensors", listed),
    ),
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=compared,
    wrong=(
        WrongAnswer("across an end", wrong.across_ends, wrong.ACROSS_ENDS),
        WrongAnswer("one discount for all", wrong.one_discount, wrong.ONE_DISCOUNT),
        WrongAnswer("no bootstrap", wrong.no_bootstrap, wrong.NO_BOOTSTRAP),
        WrongAnswer("bootstrap not discounted", wrong.whole_bootstrap, wrong.WHOLE_BOOTSTRAP),
        WrongAnswer("from the first step on", wrong.forward, wrong.FORWARD),
        WrongAnswer("the next step's discount", wrong.next_discount, wrong.NEXT_DISCOUNT),
        WrongAnswer("in reverse order", wrong.reversed_rows, wrong.REVERSED_ROWS),
        WrongAnswer("one step each", wrong.one_step, wrong.ONE_STEP),
        WrongAnswer("the first return alone", wrong.only_first, wrong.ONLY_FIRST),
        WrongAnswer("the reward discounted too", wrong.discounts_all, wrong.DISCOUNTS_ALL),
        WrongAnswer("no reward at an end", wrong.loses_last, wrong.LOSES_LAST),
        WrongAnswer("not discounted", wrong.undiscounted, wrong.UNDISCOUNTED),
        WrongAnswer("one tensor for all steps", wrong.one_tensor, wrong.ONE_TENSOR),
        WrongAnswer("one row more", wrong.one_row_more, wrong.ONE_ROW_MORE),
        WrongAnswer("one row late", wrong.one_row_late, wrong.ONE_ROW_LATE),
        WrongAnswer("the largest discount", wrong.largest_discount, wrong.LARGEST_DISCOUNT),
        WrongAnswer("one number for a discount", wrong.first_number, wrong.FIRST_NUMBER),
        WrongAnswer("a list", wrong.as_a_list, hint="`torch.stack(found)`"),
        WrongAnswer("into the rewards", wrong.into_rewards, hint="wrote into `rewards`"),
        WrongAnswer("into the bootstrap", wrong.into_bootstrap, hint="wrote into `bootstrap`"),
    ),
    ranked=False,
)
