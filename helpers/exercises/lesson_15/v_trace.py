"""Exercise 15.6, V-trace: targets and advantages from steps that an older policy played.

`v_trace(log_ratios, rewards, discounts, values, bootstrap, rho, c)`. The claim: the paper's targets
and advantages, with ends of episodes respected; equal to the n-step returns where nothing is stale;
no way back to what was given, and nothing written into. Source: Espeholt et al. (2018), section 4.1
and remark 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.actors.v_trace import v_trace as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, describe, is_array, told_apart
from helpers.exercises.drives_actors import corrected_steps
from helpers.exercises.lesson_15 import v_trace_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

NAMES = ("targets", "advantages")
_GIVEN = ("log_ratios", "rewards", "discounts", "values", "bootstrap")
# Steps, games, rho, c, and whether the policies differ; the last one has no axis for games.
_SETTINGS = (
    ((5, 3), 1.0, 1.0, True),
    ((1, 2), 1.0, 1.0, True),
    ((4, 1), 2.0, 0.8, True),
    ((3, 5), 1.0, 1.0, False),
    ((6,), 1.5, 1.0, True),
)


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 games, one without an axis for games; one with nothing stale.

    In every longer one an episode ends on the way. Some ratios lie below c, some between c and rho,
    some above both. c is never above rho, as in the paper.
    """
    random, made = rng(seed, "15.6"), []
    settings: Sequence[tuple[tuple[int, ...], float, float, bool]] = _SETTINGS
    if seed:
        steps, games = (int(n) for n in random.integers(5, 9, 2))
        settings = (
            ((steps, games), 1.0, 1.0, True),
            ((steps, 2), 1.8, 0.9, True),
            ((4, 3), 1.0, 1.0, False),
            ((games,), 2.5, 1.2, True),
            ((1, 1), 1.0, 0.5, True),
        )
    digits = 3 if seed else 1  # a hidden number is none that is shown
    for shape, rho, c, stale in settings:
        ratios = random.permutation(np.geomspace(0.3, 4.0 * rho, int(np.prod(shape))))
        log_ratios = np.round(np.log(ratios), digits + 1).reshape(shape) * stale
        rewards, values = (np.round(random.uniform(-2, 2, shape), digits) for _ in range(2))
        discounts = np.round(random.uniform(0.6, 0.95, shape), digits + 1)
        if shape[0] > 2:
            discounts.reshape(shape[0], -1)[shape[0] // 2, 0] = 0.0
        bootstrap = np.asarray(np.round(random.uniform(1, 2, shape[1:]), digits))
        args = ((log_ratios, rewards, discounts, values, bootstrap, rho, c),)
        of = "one game, without an axis for games" if len(shape) < 2 else count(shape[1], "game")
        words = "" if stale else ", where both policies are the same"
        name = f"Over {count(shape[0], 'step')} of {of}, cut at rho = {rho:g} and c = {c:g}"
        facts = {"want": corrected_steps(reference, Case(name, args)).values[0]["given"]}
        made.append(Case(name + words, args, facts=facts))
    return made


def fault(case: Case, seen: Observation) -> tuple[str, str] | None:
    """What is wrong first, as ("form", "targets" or "advantages", words); None for nothing."""
    given = seen.values[0]["given"]
    if not isinstance(given, tuple | list) or len(given) != 2:
        return "form", f"you returned {describe(given)}; wanted are targets and advantages"
    for name, got, want in zip(NAMES, given, case.facts["want"], strict=True):
        if not is_array(got, want.shape):
            return "form", f"the {name} are {describe(got)}; wanted is a tensor of {want.shape}"
        if not close(got, want, 1e-6):
            return name, _first_off(case, name, got, want)
    return None


def _first_off(case: Case, name: str, got: np.ndarray, want: np.ndarray) -> str:
    """The first wrong number, coming from the end, with what it was made of."""
    off = ~(np.abs(got - want) <= 1e-6 * np.abs(want).max())
    step = int(np.flatnonzero(off.reshape(len(want), -1).any(1))[-1])
    game = int(np.flatnonzero(off[step])[0]) if want.ndim > 1 else None
    place = (step,) if game is None else (step, game)
    which = "" if game is None else f" of game {game}"
    one, other = told_apart(float(got[place]) + 0.0, float(want[place]) + 0.0)  # no −0
    ratio, discount = np.exp(case.args[0][0][place]), case.args[0][2][place]
    return (
        f"the {name.removesuffix('s')} of step {step}{which} is {one} and should be {other} "
        f"(there π/μ is {ratio:.3g} and the discount {discount:g})"
    ).replace("-", "−")


def claim(case: Case, seen: Observation) -> str | None:
    """Targets and advantages, without a way back, and nothing written into."""
    found = fault(case, seen)
    if found:
        return f"{case.name}, {found[1]}."
    if any(seen.values[0]["linked"]):
        return f"{case.name}, {wrong.LINKED}"
    return wrote(case, seen)


def wrote(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    place = seen.values[0]["changed"]
    if type(place) is not int or not 0 <= place < len(_GIVEN):
        return None
    return (
        f"{case.name}, you wrote into `{_GIVEN[place]}`, which belongs to the caller: put what you "
        "find into a tensor of your own."
    )


def compared(case: Case, seen: Observation) -> Any:
    """What is wrong first: the form, the targets, the advantages, a way back."""
    found, got = fault(case, seen), seen.values[0]
    if found is None:
        return [any(got["linked"]), got["changed"]]
    if found[0] == "form":
        return got["given"]
    return [np.asarray(one, dtype=np.float64) for one in got["given"]]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first fault, from the end."""
    found = fault(case, seen)
    return {"fault": found[1] if found else ""}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    log_ratios, *_, rho, _ = cases[0].args[0]
    cut = int((np.exp(log_ratios) > rho).sum())
    return (
        f"Passed on {len(cases)} sets of steps: {cut} of the first {log_ratios.size} ratios were "
        "cut off, and where both policies were the same, the targets were the n-step returns."
    )


EXERCISE = Exercise(
    number="15.6",
    title="V-trace",
    stars=3,
    minutes=15,
    points=4,
    function="v_trace",
    asks=(
        "target_t = V_t + ρ_t (r_t + γ_t V_{t+1} − V_t) + γ_t c_t (target_{t+1} − V_{t+1}) and "
        "advantage_t = ρ_t (r_t + γ_t target_{t+1} − V_t), with ρ_t = min(rho, π/μ), "
        "c_t = min(c, π/μ), the bootstrap behind the last step, and no way back to what was given."
    ),
    cases=cases,
    drive=corrected_steps,
    claim=claim,
    mistakes=(Mistake("writes into what it is given", wrote),),
    praise=praise,
    reference=reference,
    numbers=numbers,
    compared=compared,
    wrong=(
        WrongAnswer("nothing cut off", wrong.uncut, wrong.UNCUT),
        WrongAnswer("the logarithm cut off", wrong.cut_logs, wrong.CUT_LOGS),
        WrongAnswer("rho and c swapped", wrong.swapped, wrong.SWAPPED),
        WrongAnswer("both cut off at 1", wrong.at_one, wrong.AT_ONE),
        WrongAnswer("rho for both", wrong.rho_twice, wrong.RHO_TWICE),
        WrongAnswer("c not cut off", wrong.c_uncut, wrong.C_UNCUT),
        WrongAnswer("cut off from below", wrong.from_below, wrong.FROM_BELOW),
        WrongAnswer("the ratio upside down", wrong.inverted, wrong.INVERTED),
        WrongAnswer("the logarithm for the ratio", wrong.no_exponential, wrong.NO_EXPONENTIAL),
        WrongAnswer("the step itself twice", wrong.itself_twice, wrong.ITSELF_TWICE),
        WrongAnswer("no discount on the way back", wrong.no_discount, wrong.NO_DISCOUNT),
        WrongAnswer("no c on the way back", wrong.no_trace, wrong.NO_TRACE),
        WrongAnswer("no later value in the surprise", wrong.no_later, wrong.NO_LATER),
        WrongAnswer("the whole next target", wrong.whole_target, wrong.WHOLE_TARGET),
        WrongAnswer("the target less the value", wrong.value_less, wrong.VALUE_LESS),
        WrongAnswer("the next step's weight", wrong.next_trace, wrong.NEXT_TRACE),
        WrongAnswer("the surprise unweighted", wrong.unweighted, wrong.UNWEIGHTED),
        WrongAnswer("across an end", wrong.across_ends, wrong.ACROSS_ENDS),
        WrongAnswer("no bootstrap", wrong.no_bootstrap, wrong.NO_BOOTSTRAP),
        WrongAnswer("the value not added", wrong.no_value, wrong.NO_VALUE),
        WrongAnswer("the next value", wrong.next_value, wrong.NEXT_VALUE),
        WrongAnswer("its own target", wrong.own_target, wrong.OWN_TARGET),
        WrongAnswer("the advantage unweighted", wrong.plain_advantage, wrong.PLAIN_ADVANTAGE),
        WrongAnswer("not corrected", wrong.uncorrected, wrong.UNCORRECTED),
        WrongAnswer("advantages first", wrong.turned, wrong.TURNED),
        WrongAnswer("a way back", wrong.linked, wrong.LINKED),
        WrongAnswer("into the values", wrong.into_values, hint="wrote into `values`"),
    ),
    ranked=False,
)
