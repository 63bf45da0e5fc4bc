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
        others = {name: _or_none(rule, args) for name, rule in KNOWN.items()}
        facts = {"want": reference(*args), "others": others}
        facts["calm"] = reference(rate, staleness, [0.0] * len(noise))
        name = f"With rate {short(rate)} and gradients {count(staleness, 'update')} late"
        made.append(Case(name, (args,), facts=facts))
    return made


def _or_none(rule: Callable[..., Path], args: tuple[float, int, Path]) -> Path | None:
    try:
        return rule(*args)
    except (IndexError, ZeroDivisionError):
        return None


def _path(seen: Observation) -> Path:
    given: Any = seen.values[0]
    if is_array(given) and given.ndim == 1:
        given = given.tolist()
    found = [number(v) for v in given]
    if None in found:
        raise TypeError
    return [v for v in found if v is not None]


def _close(got: Path, want: Path) -> bool:
    return len(got) == len(want) and bool(np.allclose(got, want, rtol=1e-9, atol=1e-9))


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


def _like(name: str, words: str) -> Mistake:
    """An answer that takes another path, which the facts hold; words: the hint."""

    def look(case: Case, seen: Observation) -> str | None:
        other = case.facts["others"].get(name)
        if other is None or not _close(_path(seen), other):
            return None
        staleness, want = case.args[0][1], case.facts["want"]
        step = next(i for i, (a, b) in enumerate(zip(other, want, strict=False)) if a != b)
        facts = {"late": staleness, "step": step, "got": short(other[step])}
        facts["want"] = short(want[step])
        return f"{case.name}, {words.format(**facts)}"

    return Mistake(name, look)


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


def _no_start(case: Case, seen: Observation) -> str | None:
    if not _close(_path(seen), case.facts["want"][1:]):
        return None
    return f"{case.name}, the start is missing: the path begins with 1.0, before any update."


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


def fresh(rate: float, staleness: int, noise: Path) -> Path:
    """Never late."""
    path = [1.0]
    for error in noise:
        path.append(path[-1] - rate * (path[-1] + error))
    return path


def from_stale(rate: float, staleness: int, noise: Path) -> Path:
    """Steps from the stale weights instead of the present ones."""
    path = [1.0]
    for step, error in enumerate(noise):
        old = path[max(step - staleness, 0)]
        path.append(old - rate * (old + error))
    return path


def one_later(rate: float, staleness: int, noise: Path) -> Path:
    """Counts from the end of the list: path[-1 - staleness - 1]."""
    path = [1.0]
    for step, error in enumerate(noise):
        path.append(path[-1] - rate * (path[max(step - staleness - 1, 0)] + error))
    return path


def one_sooner(rate: float, staleness: int, noise: Path) -> Path:
    """Counts from the end of the list: path[-staleness]."""
    path = [1.0]
    for step, error in enumerate(noise):
        late = max(staleness - 1, 0)
        path.append(path[-1] - rate * (path[max(step - late, 0)] + error))
    return path


def noise_whole(rate: float, staleness: int, noise: Path) -> Path:
    """Adds the noise to w instead of to the gradient."""
    path = [1.0]
    for step, error in enumerate(noise):
        path.append(path[-1] - rate * path[max(step - staleness, 0)] + error)
    return path


def no_noise(rate: float, staleness: int, noise: Path) -> Path:
    """Leaves the noise out."""
    path = [1.0]
    for step in range(len(noise)):
        path.append(path[-1] - rate * path[max(step - staleness, 0)])
    return path


def uphill(rate: float, staleness: int, noise: Path) -> Path:
    """The wrong sign."""
    path = [1.0]
    for step, error in enumerate(noise):
        path.append(path[-1] + rate * (path[max(step - staleness, 0)] + error))
    return path


def waits(rate: float, staleness: int, noise: Path) -> Path:
    """Makes no update until the first late gradient could be there."""
    path = [1.0]
    for step, error in enumerate(noise):
        gradient = path[step - staleness] + error if step >= staleness else 0.0
        path.append(path[-1] - rate * gradient)
    return path


def index_error(rate: float, staleness: int, noise: Path) -> Path:
    """Looks back past the start."""
    path = [1.0]
    for error in noise:
        path.append(path[-1] - rate * (path[-1 - staleness] + error))
    return path


KNOWN: dict[str, Callable[..., Path]] = {
    "never late": fresh,
    "steps from the stale weights": from_stale,
    "one update too late": one_later,
    "one update too soon": one_sooner,
    "noise on the weights": noise_whole,
    "no noise": no_noise,
    "uphill": uphill,
    "no update at first": waits,
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
    drive=plain_call,
    claim=claim,
    mistakes=(
        Mistake("looks back past the start", _before_the_start, unfinished=True),
        Mistake("no path", _not_a_path),
        Mistake("no start", _no_start),
        _like(
            "never late",
            "every gradient is fresh: update t takes the gradient at w[t − {late}], not at w[t].",
        ),
        _like(
            "steps from the stale weights",
            "update {step} starts from the stale weights and undoes what came since. The "
            "gradient is old; the weights that the server changes are its present ones, "
            "`path[-1]`.",
        ),
        _like(
            "one update too late",
            "the gradients are one update too late: w after update {step} is {got} instead of "
            "{want}. Update t, counted from 0, takes w[t − {late}].",
        ),
        _like(
            "one update too soon",
            "the gradients are one update too fresh: w after update {step} is {got} instead of "
            "{want}. Staleness 0 is `path[-1]`, so staleness {late} is `path[-1 - {late}]`.",
        ),
        _like(
            "noise on the weights",
            "the noise goes into w whole, {got} instead of {want}: it is part of the gradient, "
            "so the rate multiplies it too.",
        ),
        _like("no noise", "the noise is left out: the gradient of update t is off by noise[t]."),
        _like(
            "uphill", "w goes uphill, to {got} in update {step}: a step is minus rate · gradient."
        ),
        _like(
            "no update at first",
            "w stays at 1 in the first {late} updates. All workers pulled w[0] at the start, so "
            "the first gradients are those of w[0]: `path[max(step - staleness, 0)]`.",
        ),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("never late", fresh, hint="every gradient is fresh"),
        WrongAnswer("from the stale weights", from_stale, hint="undoes what came since"),
        WrongAnswer("one too late", one_later, hint="one update too late"),
        WrongAnswer("one too soon", one_sooner, hint="one update too fresh"),
        WrongAnswer("noise on the weights", noise_whole, hint="goes into w whole"),
        WrongAnswer("no noise", no_noise, hint="is left out"),
        WrongAnswer("uphill", uphill, hint="uphill"),
        WrongAnswer("waits at first", waits, hint="w stays at 1"),
        WrongAnswer("looks back too far", index_error, hint="no w that long ago"),
    ),
    ranked=False,
)
