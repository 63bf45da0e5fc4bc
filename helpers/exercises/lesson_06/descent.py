"""Exercise 06.2, descent with late and noisy gradients: what rate and batch size can do.

`delayed_descent(rate, staleness, noise) -> list[float]`: w²/2 is minimised from w = 1; update t
uses the gradient at w[t − staleness], or at w[0] before there is one, plus noise[t]. The claim:
the whole path, to five digits, so that float32 will do; and `noise` is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.algorithms.servers.stale_descent import delayed_descent as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, is_array, number, short, told_apart
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import CHANGED
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Path = list[float]
_TOLERANCE = 1e-5


def cases(seed: int) -> list[Case]:
    """Seed 0: gradients 2, 0, 1 and 4 updates late; else other rates, staleness and noise."""
    random, made = rng(seed, "06.2"), []
    settings = [(0.5, 2), (0.25, 0), (0.4, 1), (0.2, 4)]
    if seed:
        late = [2, 0, 1, 4, int(random.integers(5, 20))]
        settings = [(round(float(random.uniform(0.05, 0.8)), 3), each) for each in late]
    for rate, staleness in settings:
        noise = [round(float(e), 2) for e in random.normal(0, 0.3, 3 * staleness + 6)]
        args = (rate, staleness, noise)
        calm = (rate, staleness, [0.0] * len(noise))
        facts = {"want": reference(*args), "calm": reference(*calm)}
        name = f"With rate {short(rate)} and gradients {count(staleness, 'update')} late"
        made.append(Case(name, (args,), facts=facts))
    return made


def _path(seen: Observation) -> Path:
    given: Any = seen.values[0]
    if type(given) is dict:
        given = given["returned"]
    if is_array(given) and given.ndim == 1:
        given = given.tolist()
    found = [number(v) for v in given]
    if None in found:
        raise TypeError
    return [v for v in found if v is not None]


def _first_difference(path: Path, want: Path) -> int | None:
    """The number of the first w that is not as wanted; None where all are."""
    pairs = enumerate(zip(path, want, strict=False))
    scale = max(map(abs, want))  # so that NaN is wrong too
    return next((i for i, (a, b) in pairs if not abs(a - b) <= _TOLERANCE * scale), None)


def claim(case: Case, seen: Observation) -> str | None:
    """Every w of the path, and the noise as it was."""
    want, got = case.facts["want"], _path(seen)
    if len(got) != len(want):
        said = f"{case.name}, the path has {len(got)} values; with {len(want) - 1} updates it has"
        return f"{said} {len(want)}: w at the start, and after each update."
    step = _first_difference(got, want)
    if step is not None:
        one, other = told_apart(got[step], want[step])
        return f"{case.name}, w after {count(step, 'update')} is {one}; it should be {other}."
    return _changed(case, seen)


def _changed(case: Case, seen: Observation) -> str | None:
    if type(seen.values[0]) is not dict or CHANGED not in seen.values[0]:
        return None
    return (
        f"{case.name}, your function changes `noise`, the list that it was given, which its caller "
        "may use again. Go through it with `for`."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first update that is not as wanted, and what w is then."""
    path, want = _path(seen), case.facts["want"]
    step = _first_difference(path, want) or 0
    got, right = told_apart(path[step], want[step])
    return {"late": case.args[0][1], "step": step, "got": got, "want": right}


def _before_the_start(case: Case, seen: Observation) -> str | None:
    if seen.kind != "IndexError":
        return None
    if "assignment" in seen.text:
        return f"{case.name}, a list has no places to come: let it grow with `path.append(…)`."
    return (
        f"{case.name}, there is no w that long ago in the first updates: all workers computed "
        "their first gradient at the start, so take `path[max(step - staleness, 0)]`."
    )


def _not_a_path(case: Case, seen: Observation) -> str | None:
    try:
        _path(seen)
        return None
    except TypeError:
        gave = describe(seen.values[0])
    return f"{case.name}, you returned {gave}: return a list of numbers, the whole path."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    rate, staleness, noise = cases[0].args[0]
    path, calm = (
        ", ".join(f"{w:.2f}" for w in each[:5]) for each in (_path(seen[0]), cases[0].facts["calm"])
    )
    off = ", ".join(f"{error:g}" for error in noise[:4])
    return (
        f"Passed: with rate {rate}, gradients {staleness} updates late and noise of {off} … the "
        f"path is {path} …; without noise it would be {calm} …"
    )


def _stepping(update: Callable[..., float]) -> Callable[[float, int, Path], Path]:
    """Descent with another update, of the path, the rate, how late, and what the noise is."""

    def descent(rate: float, staleness: int, noise: Path) -> Path:
        path = [1.0]
        for error in noise:
            path.append(update(path, rate, staleness, error))
        return path

    return descent


def _old(path: Path, late: int) -> float:
    """The w that a gradient is of which is so many updates late."""
    return path[max(len(path) - 1 - max(late, 0), 0)]


_never_late = _stepping(lambda w, rate, late, off: w[-1] - rate * (w[-1] + off))
_from_stale = _stepping(lambda w, rate, late, off: _old(w, late) - rate * (_old(w, late) + off))
_one_later = _stepping(lambda w, rate, late, off: w[-1] - rate * (_old(w, late + 1) + off))
_one_sooner = _stepping(lambda w, rate, late, off: w[-1] - rate * (_old(w, late - 1) + off))
_noise_whole = _stepping(lambda w, rate, late, off: w[-1] - rate * _old(w, late) + off)
_noise_not_rated = _stepping(lambda w, rate, late, off: w[-1] - rate * _old(w, late) - off)
_no_noise = _stepping(lambda w, rate, late, off: w[-1] - rate * _old(w, late))
_of_w_squared = _stepping(lambda w, rate, late, off: w[-1] - rate * (2 * _old(w, late) + off))
_uphill = _stepping(lambda w, rate, late, off: w[-1] + rate * (_old(w, late) + off))
_waits = _stepping(
    lambda w, rate, late, off: w[-1] - rate * (w[-1 - late] + off if len(w) > late else 0)
)
_noise_alone = _stepping(
    lambda w, rate, late, off: w[-1] - rate * ((w[-1 - late] if len(w) > late else 0) + off)
)
_looks_back = _stepping(lambda w, rate, late, off: w[-1] - rate * (w[-1 - late] + off))


def _noise_late(rate: float, staleness: int, noise: Path) -> Path:
    late = [noise[max(step - staleness, 0)] for step in range(len(noise))]
    return reference(rate, staleness, late)


def _no_start(rate: float, staleness: int, noise: Path) -> Path:
    return reference(rate, staleness, noise)[1:]


def _uses_up(rate: float, staleness: int, noise: Path) -> Path:
    path = [1.0]
    while noise:
        path.append(path[-1] - rate * (_old(path, staleness) + noise.pop(0)))
    return path


def _last_alone(rate: float, staleness: int, noise: Path) -> float:
    return reference(rate, staleness, noise)[-1]


def _no_places(rate: float, staleness: int, noise: Path) -> Path:
    path: Path = []
    for step, w in enumerate(reference(rate, staleness, noise)):
        path[step] = w
    return path


_SAYS = {
    "no start": "the start is missing: the path begins with 1.0, before any update.",
    "never late": "every gradient is fresh: update t takes that of w[t − {late}], not of w[t].",
    "steps from the stale weights": "update {step} starts from the stale weights and undoes what "
    "came since: the gradient is old, what the server changes are its present weights, `path[-1]`.",
    "one update too late": "the gradients are one update too late: w after update {step} is {got} "
    "instead of {want}. Update t, counted from 0, takes w[t − {late}].",
    "one update too soon": "the gradients are one update too fresh: w after update {step} is {got} "
    "instead of {want}. Staleness 0 is `path[-1]`: count back from there.",
    "noise on the weights": "the noise goes into w whole, {got} instead of {want}: it is part of "
    "the gradient, so the rate multiplies it too.",
    "noise without the rate": "w goes down by the whole noise, to {got} instead of {want}: it is "
    "part of the gradient, so the rate multiplies it too. Mind the brackets, rate · (w + noise).",
    "noise late": "the noise comes late too: w after update {step} is {got} instead of {want}. "
    "Update t, counted from 0, takes noise[t]; only w is that of {late} updates before.",
    "no noise": "the noise is left out: the gradient of update t is off by noise[t].",
    "uphill": "w goes uphill, to {got} in update {step}: a step is minus rate · gradient.",
    "no update at first": "no gradient moves w in the first {late} updates. All workers pulled "
    "w[0] at the start, so the first gradients are those of w[0]: `path[max(step - staleness, "
    "0)]`.",
}
EXERCISE = Exercise(
    number="06.2",
    title="Late and noisy descent",
    stars=2,
    minutes=12,
    points=3,
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
    compared=lambda case, seen: np.array(_path(seen)),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("no start", _no_start, _SAYS["no start"]),
        WrongAnswer("never late", _never_late, _SAYS["never late"]),
        WrongAnswer(
            "steps from the stale weights", _from_stale, _SAYS["steps from the stale weights"]
        ),
        WrongAnswer("one update too late", _one_later, _SAYS["one update too late"]),
        WrongAnswer("one update too soon", _one_sooner, _SAYS["one update too soon"]),
        WrongAnswer("noise on the weights", _noise_whole, _SAYS["noise on the weights"]),
        WrongAnswer("noise without the rate", _noise_not_rated, _SAYS["noise without the rate"]),
        WrongAnswer("noise late", _noise_late, _SAYS["noise late"]),
        WrongAnswer("no noise", _no_noise, _SAYS["no noise"]),
        WrongAnswer("uphill", _uphill, _SAYS["uphill"]),
        WrongAnswer("of w squared", _of_w_squared, "the gradient of w²/2 is w, and you took 2 w."),
        WrongAnswer("no update at first", _waits, _SAYS["no update at first"]),
        WrongAnswer("no gradient at first", _noise_alone, _SAYS["no update at first"]),
        WrongAnswer("uses the noise up", _uses_up, hint="changes `noise`"),
        WrongAnswer("looks back too far", _looks_back, hint="no w that long ago"),
        WrongAnswer("sets what is not there", _no_places, hint="a list has no places to come"),
        WrongAnswer("the last w alone", _last_alone, hint="a list of numbers, the whole path"),
    ),
    ranked=False,
)
