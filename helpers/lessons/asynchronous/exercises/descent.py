"""Exercise 06.2, descent with late and noisy gradients: what rate and batch size can do.

`delayed_descent(rate, staleness, noise) -> list[float]`: w²/2 is minimised from w = 1; update t
uses the gradient at w[t − staleness], or at w[0] before there is one, plus noise[t]. The claim:
the whole path, to five digits, so that float32 will do; and `noise` is left as it is.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.checks.compare import count, describe, is_array, number, short, told_apart
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.asynchronous.algorithms.stale_descent import delayed_descent as reference


def cases(seed: int) -> list[Case]:
    """Seed 0: gradients 2, 0, 1 and 4 updates late; else other rates, staleness and noise. Then no
    update at all."""
    random, made = rng(seed, "06.2"), []
    settings = [(0.5, 2), (0.25, 0), (0.4, 1), (0.2, 4)]
    if seed:
        late = [2, 0, 1, 4, int(random.integers(5, 20))]
        settings = [(round(float(random.uniform(0.05, 0.8)), 3), each) for each in late]
    for rate, staleness in settings:
        noise = [round(float(e), 2) for e in random.normal(0, 0.3, 3 * staleness + 6)]
        want, calm = (np.array(reference(rate, staleness, e)) for e in (noise, [0.0] * len(noise)))
        name = f"With rate {short(rate)} and gradients {count(staleness, 'update')} late"
        made.append(Case(name, ((rate, staleness, noise),), facts={"want": want, "calm": calm}))
    start = np.array([1.0])
    facts = {"want": start, "calm": start}
    return [*made, Case("With an empty list of noise", ((0.25, 2, []),), facts=facts)]


def _path(seen: Observation) -> np.ndarray:
    """What was returned, as an array; raises TypeError where it is no list of numbers."""
    given = returned(seen.values[0])
    given = given.tolist() if is_array(given) and given.ndim == 1 else given
    return np.array([float(number(w)) for w in given])  # type: ignore[arg-type]


def _first_difference(path: np.ndarray, want: np.ndarray) -> int | None:
    """The number of the first w that is not as wanted; None where all are."""
    pairs, scale = enumerate(zip(path, want, strict=False)), np.abs(want).max()
    return next((i for i, (a, b) in pairs if not abs(a - b) <= 1e-5 * scale), None)  # or NaN


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Every w of the path, and the noise as it was."""
    want, got = case.facts["want"], _path(seen)
    if len(got) != len(want):
        yield (
            f"the path has {len(got)} values; with {len(want) - 1} updates it has {len(want)}: w "
            "at the start, and after each update."
        )
    step = _first_difference(got, want)
    if step is not None:
        one, other = told_apart(got[step], want[step])
        yield f"w after {count(step, 'update')} is {one}; it should be {other}."
    yield from _changed(case, seen)


def _changed(case: Case, seen: Observation) -> Iterator[str]:
    if changed(seen.values[0]) is not None:
        yield (
            "your function changes `noise`, the list that it was given, which its caller may use "
            "again. Go through it with `for`."
        )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first update that is not as wanted, and what w is then."""
    path, want = _path(seen), case.facts["want"]
    step = _first_difference(path, want) or 0
    got, right = told_apart(path[step], want[step])
    return {"late": case.args[0][1], "step": step, "got": got, "want": right}


def _before_the_start(case: Case, seen: Observation) -> Iterator[str]:
    if seen.kind == "IndexError" and "assignment" in seen.text:
        yield "a list has no places to come: let it grow with `path.append(…)`."
    if seen.kind == "IndexError" and "index out of range" in seen.text and case.args[0][2]:
        yield (
            "a list has no such place. If it is `path`, there is no w that long ago in the first "
            "updates: all workers computed their first gradient at the start, so take `path[max("
            "step - staleness, 0)]`. And `noise` has one value an update, no more."
        )


def _not_a_path(case: Case, seen: Observation) -> Iterator[str]:
    try:
        _path(seen)
    except TypeError:
        gave = describe(seen.values[0])
        yield f"you returned {gave}: return a list of numbers, the whole path."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    rate, staleness, noise = cases[0].args[0]
    both = (_path(seen[0]), cases[0].facts["calm"])
    path, calm = (", ".join(f"{w:.2f}" for w in each[:5]) for each in both)
    off = ", ".join(f"{error:g}" for error in noise[:4])
    return (
        f"Passed: with rate {rate}, gradients {staleness} updates late and noise of {off} … the "
        f"path is {path} …; without noise it would be {calm} …"
    )


WRONG = """
no start
    | return path => return path[1:]
    the start is missing: the path begins with 1.0, before any update.
never late
    | path[max(step - staleness, 0)] => path[-1]
    every gradient is fresh: update t takes that of w[t − {late}], not of w[t].
steps from the stale weights
    | path[-1] => path[max(step - staleness, 0)]
    update {step} starts from the stale weights and undoes what came since: the gradient is old,
    what the server changes are its present weights, `path[-1]`.
one update too late
    | step - staleness => step - staleness - 1
    the gradients are one update too late: w after update {step} is {got} instead of {want}. Update
    t, counted from 0, takes w[t − {late}].
one update too soon
    | step - staleness => step - max(staleness - 1, 0)
    the gradients are one update too fresh: w after update {step} is {got} instead of {want}.
    Staleness 0 is `path[-1]`: count back from there.
noise on the weights
    | rate * (path => (rate * path
    | + error => - error
    the noise goes into w whole, {got} instead of {want}: it is part of the gradient, so the rate
    multiplies it too.
noise without the rate
    | rate * (path => (rate * path
    w goes down by the whole noise, to {got} instead of {want}: it is part of the gradient, so the
    rate multiplies it too. Mind the brackets, rate · (w + noise).
noise late
    | + error => + noise[max(step - staleness, 0)]
    the noise comes late too: w after update {step} is {got} instead of {want}. Update t, counted
    from 0, takes noise[t]; only w is that of {late} updates before.
no noise
    | + error =>
    the noise is left out: the gradient of update t is off by noise[t].
uphill
    | path[-1] - => path[-1] +
    w goes uphill, to {got} in update {step}: a step is minus rate · gradient.
of w squared
    | rate * (path => rate * (2 * path
    the gradient of w²/2 is w, and you took 2 w.
no update at first
    | + error) => + error) * (step >= staleness)
    no gradient moves w in the first {late} updates. All workers pulled w[0] at the start, so the
    first gradients are those of w[0]: `path[max(step - staleness, 0)]`.
no gradient at first
    | 0)] + error => 0)] * (step >= staleness) + error
    ! no update at first
uses the noise up
    | step, error in enumerate(noise) => step in range(len(noise))
    | + error => + noise.pop(0)
    ? changes `noise`
looks back too far
    | max(step - staleness, 0) => -1 - staleness
    ? no w that long ago
sets what is not there
    | path.append( => path[step + 1] = (
    ? a list has no places to come
the last w alone
    | return path => return path[-1]
    ? a list of numbers, the whole path
"""

EXERCISE = Exercise(
    number="06.2",
    title="Late and noisy descent",
    size=Size(stars=2, minutes=12, points=3),
    function="delayed_descent",
    asks=(
        "w[t+1] = w[t] − rate · (w[max(t − staleness, 0)] + noise[t]) from w[0] = 1, as the list "
        "of all w."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=(
        Mistake("looks back past the start", _before_the_start, unfinished=True),
        Mistake("no path", _not_a_path),
        Mistake("changes the noise", _changed),
    ),
    numbers=numbers,
    compared=lambda case, seen: _path(seen),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("06.2", WRONG, reference),
    ranked=False,
)
