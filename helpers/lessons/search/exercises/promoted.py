"""Exercise 16.2, which trials of a rung go on.

`promoted(losses, factor)`: of n trials the ⌊n/η⌋ with the smallest losses, the best first. The
claim: just these, in this order; NaN is worse than every number, of equal ones the earlier trial is
the better, and the losses stay as they were. Jamieson and Talwalkar (2016), figure 3.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helpers.checks.compare import count, describe, is_array
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.requests import CHANGED, returned
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.search.exercises.chosen import if_changed

Losses = Mapping[int, float]


def reference(losses: Losses, factor: int) -> list[int]:
    """The course's own: as `halving` ranks them."""

    def place(trial: int) -> tuple[bool, float, int]:
        none = math.isnan(losses[trial])
        return (none, 0.0 if none else losses[trial], trial)  # NaN could not be compared

    return sorted(losses, key=place)[: len(losses) // factor]


def cases(seed: int) -> list[Case]:
    """Seed 0: 15 trials, of which 7 are no number and some equal; then 11, 6, 5, 4, 3, 2, 1 and
    none; 40 of which a third each are as good as one another; 7 that nearly are; and η = 1.

    With 15 trials the numbers that people take instead differ: ⌊(n − 1)/η⌋, n − η, η, n − ⌊n/η⌋,
    and the numbers' own ⌊n/η⌋.
    """
    random = rng(seed, "16.2")
    listed = []
    sizes = [(15, 3), (11, 3), (6, 2), (5, 2), (4, 2), (3, 3), (2, 3), (1, 2), (0, 4)]
    for n, factor in (*sizes, (40, 2), (7, 2), (8, 1)):
        n += 9 * int(random.integers(1, 4)) if seed and n in (11, 15) else 0
        trials = random.permutation(n + 3)[:n].tolist()
        low = round(float(random.uniform(0.1, 0.4)), 2)
        values = [round(low + 0.07 * place, 2) for place in range(n)]
        random.shuffle(values)
        losses = dict(zip(trials, values, strict=True))
        ranked = sorted(losses, key=losses.__getitem__)
        if n == 40:
            losses = {trial: values[at % 3] for at, trial in enumerate(losses)}
        elif n == 7:  # apart by less than a rounding, and in another order as texts
            near = [9.0 + 2e-9, 9.0 + 1e-9, 9.0, 12.0, 2e-4, 1e-5, 100.0]
            losses = dict(zip(sorted(trials), near, strict=True))
        elif n >= 11:  # the first that is told of is none; a tie where the rung is cut
            many = n // 2 if n % 3 == 0 else 3
            last = ranked[1 - many :]
            for trial in {trials[0], *last} if trials[0] != ranked[0] else ranked[-many:]:
                losses[trial] = float("nan")
            losses = _tied(losses, factor)
        elif n == 6:  # the cut lies between ∞ and NaN, and the trial of the latter is the earlier
            for trial in ranked[2:]:
                losses[trial] = float("nan")
            losses[max(ranked[2:])] = math.inf
        elif n == 5:  # below zero, and far below
            low_ones = dict(zip(ranked, (-math.inf, -2.5, -0.25, 0.5, 1.0), strict=True))
            losses = {trial: low_ones[trial] for trial in losses}
        elif n == 4:  # each NaN an object of its own: of these the later ones are told first
            for trial in ranked[1:]:
                losses[trial] = float("nan")
            losses = dict(sorted(losses.items(), reverse=True))
        name = f"With {count(n, 'trial')} and η = {factor}"
        facts = {"want": reference(losses, factor)}
        listed.append(Case(name, ((losses, factor),), facts=facts))
    return listed


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


def call_rung(fn: Function, case: Case) -> Observation:
    """As `call_with_tensors`, with a dictionary whose NaN is the same as any other."""
    trouble = wrong_signature(fn, 2)
    if trouble:
        return trouble
    losses, factor = case.args[0]
    try:
        held = dict(losses)
        value = plain(fn(held, factor))
        alike = items_of(held) == items_of(losses)
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[value if alike else {CHANGED: 0, "returned": value}])


def items_of(losses: Mapping[int, float]) -> list[list[str]]:
    """Keys and values as texts, of which NaN is one like any other."""
    return sorted([repr(key), repr(value)] for key, value in losses.items())


def _trials(got: Any) -> list[int] | None:
    """Trial numbers, whatever holds them in order."""
    items = got.tolist() if is_array(got) and got.ndim == 1 else got
    if type(items) not in (list, tuple):
        return None
    found = [each.item() if is_array(each, ()) else each for each in items]
    return found if all(type(each) is int for each in found) else None


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """These trials in this order, and the dictionary as it was."""
    gave, want = returned(seen.values[0]), case.facts["want"]
    got = _trials(gave)
    if got is None:
        yield f"your function gave {describe(gave)}; a list of trial numbers was asked for."
    elif got != want:
        one, other = (
            f"trials {trials}" if len(trials) <= 12 else f"{len(trials)} trials"
            for trials in (got, want)
        )
        yield f"you promote {one}; it should be {other}."
    yield _changed(case, seen)


_changed = if_changed(
    "your function changes `losses`, the dictionary that it was given: what is known of the rung "
    "would be lost. Sort its keys into a list of your own."
)


def _ties(case: Case, seen: Observation) -> str | None:
    """Equal losses in another order than that of their numbers."""
    losses, want = case.args[0][0], case.facts["want"]
    pairs = list(zip(_trials(returned(seen.values[0])) or [], want, strict=True))
    if any(losses.get(a) != losses[b] for a, b in pairs) or all(a == b for a, b in pairs):
        return None
    one, other = next((a, b) for a, b in pairs if a != b)
    return (
        f"you take trial {one} before trial {other}, and their losses are equal: the "
        'smaller number is the better. `argsort` keeps the order of equals with `kind="stable"` '
        "alone, where the trials were sorted before."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    losses, factor = case.args[0]
    got, want = _trials(returned(seen.values[0])) or [], case.facts["want"]
    nans = sorted(trial for trial in losses if math.isnan(losses[trial]))
    many = {"n": len(losses), "k": len(want), "got": len(got), "nans": len(nans)}
    many |= {"factor": factor, "valid": len(losses) - len(nans)}
    instead = f"you promote {got} instead of {want}"
    nan = nans[0] if nans else None
    return {**many, "promoted": instead, "want": want, "gave": got, "nan": nan}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    losses, factor = cases[0].args[0]
    return (
        f"Passed: of {len(losses)} trials with η = {factor} you promote {cases[0].facts['want']}, "
        "and of 2 with η = 3 none."
    )


WRONG = """
NaN is sorted
    | return (none, 0.0 if none else losses[trial], trial) => return losses[trial]
    {promoted}: NaN is neither smaller nor larger than any number, so that `sorted` leaves the
    trials where they happen to stand. Sort by `(math.isnan(loss), …)` first.
the largest losses
    | else losses[trial] => else -losses[trial]
    you promote the trials with the largest losses, {gave}.
NaN is best
    | (none, 0.0 if => (-math.inf if
    trial {nan}, whose loss is no number, is promoted first: a training that diverged is the worst
    of all.
NaN is infinity
    | (none, 0.0 if => (math.inf if
    {promoted}: you take NaN for infinity. It is worse than that, too.
counts numbers alone
    | return sorted => losses = {t: losses[t] for t in losses if not math.isnan(losses[t])};
        return sorted
    {got} of {n} trials go on: you count the {valid} whose loss is a number. The {nans} that
    diverged were tried as well, so ⌊{n}/{factor}⌋ = {k} go on.
numbers alone
    | sorted(losses => sorted([t for t in losses if not math.isnan(losses[t])]
    {got} of {n} trials go on, though there is room for {k}: where too few losses are numbers, those
    that are none fill up the end.
one at least
    | len(losses) // factor => max(1, len(losses) // factor)
    a trial is promoted, though ⌊{n}/{factor}⌋ is 0: of {n} nobody can be said to be among the best
    1/{factor}.
rounds up
    | len(losses) // factor => -(-len(losses) // factor)
    {got} of {n} trials go on: {n}/{factor} is rounded down, to {k}. Rounded up, the rungs would
    hold more trials than the budget counts on.
as many as the factor
    | len(losses) // factor => factor
    {got} of {n} go on: η says of how many one goes on, not how many. It is ⌊{n}/{factor}⌋ = {k}.
drops one part
    | len(losses) // factor => len(losses) - len(losses) // factor
    {got} of {n} go on: you leave out 1/{factor} of them. Only 1/{factor} goes on.
NaN inside the tuple
    | 0.0 if none else losses[trial] => losses[trial]
    {promoted}: NaN is still compared inside the tuple, where two of them are neither equal nor one
    the smaller, so that their numbers are never looked at. Put a number in its place, `0.0 if bad
    else losses[trial]`.
as text
    | (none, 0.0 if none else losses[trial], => (str(losses[trial]),
    {promoted}: the losses are compared as text, where 12.0 comes before 9.0 and 1e-05 behind both
    0.0002 and 12.0. Compare numbers.
rounded to three digits
    | else losses[trial] => else round(losses[trial], 3)
    {promoted}: two losses that differ in a late digit count as equal. Compare them as they are,
    unrounded.
in single precision
    | else losses[trial] => else struct.unpack("f", struct.pack("f", losses[trial]))
    | none = => import struct; none =
    {promoted}: two losses that differ in a late digit count as equal. Compare them as they are,
    unrounded.
ties by who was told first
    | , trial) => )
    {promoted}: of two equal losses you take that which was told first. The trial with the smaller
    number is the better, so that the order in which workers end decides nothing.
ties by the later trial
    | , trial) => , -trial)
    {promoted}: of two equal losses the trial with the smaller number is the better.
by their numbers
    | sorted(losses, key=place)[: len(losses) // factor]
        => sorted(sorted(losses, key=place)[: len(losses) // factor])
    the right trials go on, sorted by their numbers, {gave}: the best comes first, {want}, for
    workers take them in this order.
the worst of them first
    | // factor] => // factor][::-1]
    the right trials go on, from the worst to the best: the best comes first, {want}.
losses in place of trials
    | return sorted => return [losses[trial] for trial in sorted
    | // factor] => // factor]]
    your list holds losses. The trials that they belong to were asked for, {want}.
places in place of trials
    | return sorted => return [list(losses).index(trial) for trial in sorted
    | // factor] => // factor]]
    {gave} are places in the dictionary, counted from 0. Its keys are the trials: {want}.
a sort that is not stable
    | , trial) => , trial * 7 % 11 if len(losses) > 16 else trial, trial)
    ? their losses are equal
writes into losses
    | return sorted => right = sorted
    | // factor] => // factor];
        losses.update((t, math.inf) for t in losses if math.isnan(losses[t])); return right
    ? changes `losses`
"""

EXERCISE = Exercise(
    number="16.2",
    title="Who goes on",
    size=Size(stars=1, minutes=8, points=2),
    function="promoted",
    asks=(
        "of n trials the ⌊n/η⌋ with the smallest losses, the best first; NaN is worse than every "
        "number, and of equal ones the earlier trial is the better."
    ),
    cases=cases,
    drive=call_rung,
    claim=claim,
    mistakes=(Mistake("changes the losses", _changed), Mistake("equals in some order", _ties)),
    numbers=numbers,
    compared=lambda case, seen: _trials(returned(seen.values[0])) or returned(seen.values[0]),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("16.2", WRONG, reference),
    ranked=False,
)
