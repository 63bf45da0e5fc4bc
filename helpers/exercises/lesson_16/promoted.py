"""Exercise 16.2, which trials of a rung go on.

`promoted(losses, factor)`: of n trials the ⌊n/η⌋ with the smallest losses, the best first. The
claim: just these, in this order; NaN is worse than every number, of equal ones the earlier trial is
the better, and the losses stay as they were. Jamieson and Talwalkar (2016), figure 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, is_array
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import CHANGED
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Losses = Mapping[int, float]


def reference(losses: Losses, factor: int) -> list[int]:
    """The course's own: as `halving` ranks them."""

    def place(trial: int) -> tuple[bool, float, int]:
        none = math.isnan(losses[trial])
        return (none, 0.0 if none else losses[trial], trial)  # NaN could not be compared

    return sorted(losses, key=place)[: len(losses) // factor]


def cases(seed: int) -> list[Case]:
    """Seed 0: 11 trials, of which 3 are no number and two equal; then 6, 5, 4, 3, 2, 1 and none."""
    random = rng(seed, "16.2")
    made = []
    for n, factor in ((11, 3), (6, 2), (5, 2), (4, 2), (3, 3), (2, 3), (1, 2), (0, 4)):
        n += 9 * int(random.integers(1, 4)) if seed and n == 11 else 0
        trials = random.permutation(n + 3)[:n].tolist()
        low = round(float(random.uniform(0.1, 0.4)), 2)
        values = [round(low + 0.07 * place, 2) for place in range(n)]
        random.shuffle(values)
        losses = dict(zip(trials, values, strict=True))
        ranked = sorted(losses, key=losses.__getitem__)
        if n >= 11:  # the first that is told of is none; a tie where the rung is cut
            for trial in {trials[0], *ranked[-2:]} if trials[0] != ranked[0] else ranked[-3:]:
                losses[trial] = math.nan
            losses = _tied(losses, factor)
        elif n == 6:  # the cut lies between ∞ and NaN, and the trial of the latter is the earlier
            for trial in ranked[2:]:
                losses[trial] = math.nan
            losses[max(ranked[2:])] = math.inf
        elif n == 4:
            for trial in ranked[1:]:
                losses[trial] = math.nan
        made.append(_case(losses, factor))
    return made


def _tied(losses: dict[int, float], factor: int) -> dict[int, float]:
    """Two ties: of the two best, told in their order; and of the last that goes on and the first
    that does not, of which the later trial is told first."""
    ranked = reference(losses, 1)
    losses[ranked[0]], best = losses[ranked[1]], sorted(ranked[:2])
    losses = {t: losses[t] for t in [*(t for t in losses if t not in best), *best]}
    cut = len(losses) // factor
    losses[ranked[cut]] = losses[ranked[cut - 1]]
    early, late = sorted(ranked[cut - 1 : cut + 1])
    order = [each for each in losses if each not in (early, late)]
    return {each: losses[each] for each in [*order[:1], late, *order[1:], early]}


def _case(losses: dict[int, float], factor: int) -> Case:
    name = f"With {count(len(losses), 'trial')} and η = {factor}"
    return Case(name, ((losses, factor),), facts={"want": reference(losses, factor)})


def _trials(got: Any) -> list[int] | None:
    """Trial numbers, whatever holds them in order."""
    if type(got) is dict and CHANGED in got:
        got = got["returned"]
    items = got.tolist() if is_array(got) and got.ndim == 1 else got
    if type(items) not in (list, tuple):
        return None
    found = [each.item() if is_array(each, ()) else each for each in items]
    return found if all(type(each) is int for each in found) else None


def claim(case: Case, seen: Observation) -> str | None:
    """These trials in this order, and the dictionary as it was."""
    got, want = _trials(seen.values[0]), case.facts["want"]
    if got is None:
        said = describe(seen.values[0])
        return f"{case.name}, your function gave {said}; a list of trial numbers was asked for."
    if got != want:
        return f"{case.name}, you promote {_said(got)}; it should be {_said(want)}."
    return _changed(case, seen)


def _said(trials: Sequence[int]) -> str:
    return f"trials {list(trials)}" if len(trials) <= 12 else f"{len(trials)} trials"


def _changed(case: Case, seen: Observation) -> str | None:
    if type(seen.values[0]) is not dict or CHANGED not in seen.values[0]:
        return None
    return (
        f"{case.name}, your function changes `losses`, the dictionary that it was given: what is "
        "known of the rung would be lost. Sort its keys into a list of your own."
    )


def compared(case: Case, seen: Observation) -> Any:
    """The trials, whatever holds them; what are none, as they are."""
    found = _trials(seen.values[0])
    return seen.values[0] if found is None else found


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    losses, factor = case.args[0]
    got, want = _trials(seen.values[0]) or [], case.facts["want"]
    nans = sorted(trial for trial in losses if math.isnan(losses[trial]))
    odd = next((trial for trial in got if trial not in want), None)
    return {
        **{"n": len(losses), "factor": factor, "k": len(want), "got": len(got)},
        **{"want": want, "gave": got, "odd": odd, "valid": len(losses) - len(nans)},
        **{"nans": len(nans), "nan": nans[0] if nans else None},
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    losses, factor = cases[0].args[0]
    return (
        f"Passed: of {len(losses)} trials with η = {factor} you promote {cases[0].facts['want']}, "
        "and of 2 with η = 3 none."
    )


def _ranking(
    place: Callable[[Losses, int], Any] = lambda losses, trial: (
        math.isnan(losses[trial]),
        0.0 if math.isnan(losses[trial]) else losses[trial],
        trial,
    ),
    of: Callable[[Losses], Iterable[int]] = list,
    many: Callable[[Losses, int], int] = lambda losses, factor: len(losses) // factor,
    gives: Callable[[Losses, list[int]], Any] = lambda losses, trials: trials,
) -> Callable[[Losses, int], Any]:
    """Promoting with a part exchanged: a trial's place, which trials, how many, what is given."""

    def promoted(losses: Losses, factor: int) -> Any:
        ranked = sorted(of(losses), key=lambda trial: place(losses, trial))
        return gives(losses, ranked[: many(losses, factor)])

    return promoted


def _numbers_alone(losses: Losses) -> list[int]:
    return [trial for trial in losses if not math.isnan(losses[trial])]


def _finite(value: float, instead: float) -> float:
    return instead if math.isnan(value) else value


def _writes(losses: dict[int, float], factor: int) -> list[int]:
    right = reference(losses, factor)
    for trial in losses:
        losses[trial] = _finite(losses[trial], math.inf)
    return right


_plain = _ranking(lambda losses, trial: losses[trial])
_largest = _ranking(
    lambda losses, t: (math.isnan(losses[t]), -_finite(losses[t], 0.0), t),
)
_nan_first = _ranking(lambda losses, t: (_finite(losses[t], -math.inf), t))
_nan_infinite = _ranking(lambda losses, t: (_finite(losses[t], math.inf), t))
_valid_count = _ranking(
    of=_numbers_alone, many=lambda losses, factor: len(_numbers_alone(losses)) // factor
)
_valid_only = _ranking(of=_numbers_alone)
_up = _ranking(many=lambda losses, factor: -(-len(losses) // factor))
_one_at_least = _ranking(many=lambda losses, factor: max(1, len(losses) // factor))
_the_factor = _ranking(many=lambda losses, factor: factor)
_all_but = _ranking(many=lambda losses, factor: len(losses) - len(losses) // factor)
_by_telling = _ranking(lambda losses, t: (math.isnan(losses[t]), _finite(losses[t], 0.0)))
_later = _ranking(lambda losses, t: (math.isnan(losses[t]), _finite(losses[t], 0.0), -t))
_by_number = _ranking(gives=lambda losses, trials: sorted(trials))
_worst_first = _ranking(gives=lambda losses, trials: trials[::-1])
_their_losses = _ranking(gives=lambda losses, trials: [losses[trial] for trial in trials])
_positions = _ranking(gives=lambda losses, trials: [list(losses).index(t) for t in trials])


EXERCISE = Exercise(
    number="16.2",
    title="Who goes on",
    stars=1,
    minutes=8,
    points=2,
    function="promoted",
    asks=(
        "of n trials the ⌊n/η⌋ with the smallest losses, the best first; NaN is worse than every "
        "number, and of equal ones the earlier trial is the better."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=(Mistake("changes the losses", _changed),),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "NaN is sorted",
            _plain,
            "you promote {gave} instead of {want}: NaN is neither smaller nor larger than any "
            "number, so that `sorted` leaves the trials where they happen to stand. Sort by "
            "`(math.isnan(loss), …)` first.",
        ),
        WrongAnswer(
            "the largest losses",
            _largest,
            "you promote the trials with the largest losses, {gave}.",
        ),
        WrongAnswer(
            "NaN is best",
            _nan_first,
            "trial {nan}, whose loss is no number, is promoted first: a training that diverged is "
            "the worst of all.",
        ),
        WrongAnswer(
            "NaN is infinity",
            _nan_infinite,
            "you promote {gave} instead of {want}: you take NaN for infinity. It is worse than "
            "that, too.",
        ),
        WrongAnswer(
            "counts numbers alone",
            _valid_count,
            "{got} of {n} trials go on: you count the {valid} whose loss is a number. The {nans} "
            "that diverged were tried as well, so ⌊{n}/{factor}⌋ = {k} go on.",
        ),
        WrongAnswer(
            "numbers alone",
            _valid_only,
            "{got} of {n} trials go on, though there is room for {k}: where too few losses are "
            "numbers, those that are none fill up the end.",
        ),
        WrongAnswer(
            "one at least",
            _one_at_least,
            "a trial is promoted, though ⌊{n}/{factor}⌋ is 0: of {n} nobody can be said to be "
            "among the best 1/{factor}.",
        ),
        WrongAnswer(
            "rounds up",
            _up,
            "{got} of {n} trials go on: {n}/{factor} is rounded down, to {k}. Rounded up, the "
            "rungs would hold more trials than the budget counts on.",
        ),
        WrongAnswer(
            "as many as the factor",
            _the_factor,
            "{got} of {n} go on: η says of how many one goes on, not how many. It is ⌊{n}/"
            "{factor}⌋ = {k}.",
        ),
        WrongAnswer(
            "drops one part",
            _all_but,
            "{got} of {n} go on: you leave out 1/{factor} of them. Only 1/{factor} goes on.",
        ),
        WrongAnswer(
            "ties by who was told first",
            _by_telling,
            "you promote {gave} instead of {want}: of two equal losses you take that which was "
            "told first, so that the order in which workers end decides. The earlier trial is "
            "the better.",
        ),
        WrongAnswer(
            "ties by the later trial",
            _later,
            "you promote {gave} instead of {want}: of two equal losses the trial with the smaller "
            "number is the better.",
        ),
        WrongAnswer(
            "by their numbers",
            _by_number,
            "the right trials go on, sorted by their numbers, {gave}: the best comes first, "
            "{want}, for workers take them in this order.",
        ),
        WrongAnswer(
            "the worst of them first",
            _worst_first,
            "the right trials go on, from the worst to the best: the best comes first, {want}.",
        ),
        WrongAnswer(
            "losses in place of trials",
            _their_losses,
            "your list holds losses. The trials that they belong to were asked for, {want}.",
        ),
        WrongAnswer(
            "places in place of trials",
            _positions,
            "{gave} are places in the dictionary, counted from 0. Its keys are the trials: {want}.",
        ),
        WrongAnswer("writes into losses", _writes, hint="changes `losses`"),
    ),
    ranked=False,
)
