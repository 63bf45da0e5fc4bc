"""Exercise 06.2, descent with late and noisy gradients: what rate and batch size can do.

`delayed_descent(rate, staleness, noise) -> list[float]`: w²/2 is minimised from w = 1; update t
uses the gradient at w[t − staleness], or at w[0] before there is one, plus noise[t]. The claim:
the whole path, to nine digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, is_array, number, short
from helpers.exercises.drives import plain_call
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Path = list[float]


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
    if is_array(given) and given.ndim == 1:
        given = given.tolist()
    found = [number(v) for v in given]
    if None in found:
        raise TypeError
    return [v for v in found if v is not None]


def claim(case: Case, seen: Observation) -> str | None:
    """Every w of the path."""
    want, got = case.facts["want"], _path(seen)
    if len(got) != len(want):
        return (
            f"{case.name}, the path has {len(got)} values; with {len(want) - 1} updates it has "
            f"{len(want)}: w at the start, and after each update."
        )
    for step, (mine, right) in enumerate(zip(got, want, strict=True)):
        if not abs(mine - right) <= 1e-9 * max(1.0, abs(right)):  # so that NaN is wrong too
            said = f"{case.name}, w after {count(step, 'update')} is {short(mine)}"
            return f"{said}; it should be {short(right)}."
    return None


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first update that is not as wanted, and what w is then."""
    path, want = _path(seen), case.facts["want"]
    pairs = enumerate(zip(path, want, strict=False))
    step = next((i for i, (a, b) in pairs if not np.isclose(a, b, 1e-9, 1e-9)), 0)
    return {
        "late": case.args[0][1],
        "step": step,
        "got": short(path[step]),
        "want": short(want[step]),
    }


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
    value = seen.values[0]
    try:
        _path(seen)
        return None
    except TypeError:
        pass
    return f"{case.name}, you returned {describe(value)}: return a list of numbers, the whole path."


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


def reference(rate: float, staleness: int, noise: Path) -> Path:
    """The course's own."""
    from helpers.algorithms.servers.stale_descent import delayed_descent

    return delayed_descent(rate, staleness, noise)


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
_no_noise = _stepping(lambda w, rate, late, off: w[-1] - rate * _old(w, late))
_uphill = _stepping(lambda w, rate, late, off: w[-1] + rate * (_old(w, late) + off))
_waits = _stepping(
    lambda w, rate, late, off: w[-1] - rate * (w[-1 - late] + off if len(w) > late else 0)
)
_looks_back = _stepping(lambda w, rate, late, off: w[-1] - rate * (w[-1 - late] + off))


def _no_start(rate: float, staleness: int, noise: Path) -> Path:
    return reference(rate, staleness, noise)[1:]


def _last_alone(rate: float, staleness: int, noise: Path) -> float:
    return reference(rate, staleness, noise)[-1]


def _no_places(rate: float, staleness: int, noise: Path) -> Path:
    path: Path = []
    for step, w in enumerate(reference(rate, staleness, noise)):
        path[step] = w
    return path


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
    drive=plain_call,
    claim=claim,
    mistakes=(
        Mistake("looks back past the start", _before_the_start, unfinished=True),
        Mistake("no path", _not_a_path),
    ),
    numbers=numbers,
    compared=lambda case, seen: np.array(_path(seen)),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "no start",
            _no_start,
            "the start is missing: the path begins with 1.0, before any update.",
        ),
        WrongAnswer(
            "never late",
            _never_late,
            "every gradient is fresh: update t takes the gradient at w[t − {late}], not at w[t].",
        ),
        WrongAnswer(
            "steps from the stale weights",
            _from_stale,
            "update {step} starts from the stale weights and undoes what came since. The gradient "
            "is old; the weights that the server changes are its present ones, `path[-1]`.",
        ),
        WrongAnswer(
            "one update too late",
            _one_later,
            "the gradients are one update too late: w after update {step} is {got} instead of "
            "{want}. Update t, counted from 0, takes w[t − {late}].",
        ),
        WrongAnswer(
            "one update too soon",
            _one_sooner,
            "the gradients are one update too fresh: w after update {step} is {got} instead of "
            "{want}. Staleness 0 is `path[-1]`, so staleness {late} is `path[-1 - {late}]`.",
        ),
        WrongAnswer(
            "noise on the weights",
            _noise_whole,
            "the noise goes into w whole, {got} instead of {want}: it is part of the gradient, so "
            "the rate multiplies it too.",
        ),
        WrongAnswer(
            "no noise",
            _no_noise,
            "the noise is left out: the gradient of update t is off by noise[t].",
        ),
        WrongAnswer(
            "uphill",
            _uphill,
            "w goes uphill, to {got} in update {step}: a step is minus rate · gradient.",
        ),
        WrongAnswer(
            "no update at first",
            _waits,
            "w stays at 1 in the first {late} updates. All workers pulled w[0] at the start, so "
            "the first gradients are those of w[0]: `path[max(step - staleness, 0)]`.",
        ),
        WrongAnswer("looks back too far", _looks_back, hint="no w that long ago"),
        WrongAnswer("sets what is not there", _no_places, hint="a list has no places to come"),
        WrongAnswer("the last w alone", _last_alone, hint="a list of numbers, the whole path"),
    ),
    ranked=False,
)
