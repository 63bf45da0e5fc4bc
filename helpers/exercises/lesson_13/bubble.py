"""Exercise 13.1, the bubble.

`bubble(stages, microbatches, forward=1.0, backward=2.0) -> float`: the share of the time of a step
in which a device idles, where every stage takes as long. The claim is what comes out when all
microbatches go forward and then all go back, played on paper: (p − 1)/(m + p − 1), whatever a
forward and a backward take (Huang et al. 2019, section 2.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, number, short
from helpers.exercises.drives_pipeline import one_number
from helpers.exercises.lesson_13.told import play
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

_TOLERANCE = 1e-6


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2, 5 and 8 stages, backward twice forward and otherwise; else others."""
    random = rng(seed, "13.1")
    shapes = [(3, 8, 1.0, 2.0), (1, 4, 1.0, 2.0), (2, 3, 1.0, 1.0), (5, 2, 1.0, 3.0)]
    shapes += [(8, 32, 0.5, 1.5)]
    if seed:
        shapes = []
        for stages in (3, 1, 2, 5, int(random.integers(6, 12))):
            seconds = [round(float(random.uniform(0.2, 3.0)), 2) for _ in range(2)]
            shapes.append((stages, int(random.integers(6, 25)), seconds[0], seconds[1]))
    made = []
    for stages, microbatches, forward, backward in shapes:
        share = idle(stages, microbatches, forward, backward)
        facts = {"share": share, "p": stages, "m": microbatches}
        name = (
            f"With {count(stages, 'stage')}, {count(microbatches, 'microbatch', 'microbatches')}, "
            f"{forward:g} s forward and {backward:g} s back"
        )
        made.append(Case(name, ((stages, microbatches, forward, backward),), facts=facts))
    return made


def idle(stages: int, microbatches: int, forward: float, backward: float) -> float:
    """The idle share of a step in which all microbatches go forward and then all back."""
    there = [("F", i, 0) for i in range(microbatches)]
    back = [("B", i, 0) for i in range(microbatches)]
    whole = play([there + back] * stages, forward, backward).makespan
    return 1 - microbatches * (forward + backward) / whole


def claim(case: Case, seen: Observation) -> str | None:
    """The share that comes out on paper."""
    got, want = number(seen.values[0]), case.facts["share"]
    if got is None:
        return f"{case.name}, `bubble` gave {describe(seen.values[0])}; it should be a number."
    if abs(got - want) <= _TOLERANCE:
        return None
    return f"{case.name}, `bubble` gave {short(got)}; a device idles for {short(want)} of the step."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: what came, and how the step is made up."""
    stages, microbatches = case.facts["p"], case.facts["m"]
    return {
        "got": short(number(seen.values[0])),
        "p": stages,
        "m": microbatches,
        "less": stages - 1,
        "slots": microbatches + stages - 1,
        "share": short(case.facts["share"]),
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    shares = [
        f"{100 * case.facts['share']:.0f} % with {case.facts['p']} stages and "
        f"{case.facts['m']} microbatches"
        for case in (cases[0], cases[-1])
    ]
    return f"Passed: a device idles {' and '.join(shares)}, however long forward and backward take."


def reference(stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0) -> float:
    """The course's own: what a forward and a backward take cancels out."""
    from helpers.algorithms.pipeline.schedules import bubble

    return bubble(stages, microbatches, forward, backward)


def _gives(formula: Callable[[int, int, float, float], float]) -> Callable[..., float]:
    """An answer by a formula of p, m and the seconds of a forward and a backward."""

    def bubble(
        stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0
    ) -> float:
        return formula(stages, microbatches, forward, backward)

    return bubble


_of_useful = _gives(lambda p, m, f, b: (p - 1) / m)
_busy = _gives(lambda p, m, f, b: m / (m + p - 1))
_one_more = _gives(lambda p, m, f, b: (p - 1) / (m + p))
_forward_only = _gives(lambda p, m, f, b: (p - 1) * f / ((m + p - 1) * (f + b)))
_without_microbatches = _gives(lambda p, m, f, b: 1 - 1 / p)
_in_seconds = _gives(lambda p, m, f, b: (p - 1) * (f + b))
_in_percent = _gives(lambda p, m, f, b: 100 * (p - 1) / (m + p - 1))
_whole_division = _gives(lambda p, m, f, b: (p - 1) // (m + p - 1))
_both_ways = _gives(lambda p, m, f, b: 2 * (p - 1) / (m + 2 * (p - 1)))


EXERCISE = Exercise(
    number="13.1",
    title="The bubble",
    stars=1,
    minutes=8,
    points=2,
    function="bubble",
    asks=(
        "the share of a step's time in which a device idles, when all microbatches go forward "
        "through equal stages and then all go back."
    ),
    cases=cases,
    drive=one_number,
    claim=claim,
    numbers=numbers,
    compared=lambda case, seen: number(seen.values[0]),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "idle against useful time",
            _of_useful,
            "`bubble` gave {got}: that is idle time against useful time, {less} to {m}. The step "
            "takes both together: divide by {slots}.",
        ),
        WrongAnswer(
            "the busy share",
            _busy,
            "`bubble` gave {got}: that is the share in which a device works; the bubble is the "
            "rest of it.",
        ),
        WrongAnswer(
            "one slot too many",
            _one_more,
            "`bubble` gave {got}: that is a step of {m} + {p} slots. The last stage starts after "
            "{less} slots and is busy for {m}, which makes {slots}.",
        ),
        WrongAnswer(
            "idle on the way there alone",
            _forward_only,
            "`bubble` gave {got}: that counts the idle time of the way there alone; a device waits "
            "as many slots on the way back, which take longer.",
        ),
        WrongAnswer(
            "one stage at a time",
            _without_microbatches,
            "`bubble` gave {got}: that is what idles if the batch is in one piece and only one of "
            "{p} stages works at a time. With {m} microbatches the stages work at once.",
        ),
        WrongAnswer(
            "idle seconds",
            _in_seconds,
            "`bubble` gave {got}: those are the seconds in which a device idles; divide by those "
            "of the whole step.",
        ),
        WrongAnswer(
            "per cent",
            _in_percent,
            "`bubble` gave {got}: that is per cent; a share of {share} was asked for.",
        ),
        WrongAnswer(
            "whole-number division",
            _whole_division,
            "`bubble` gave {got}: that is what `//` leaves of {less} by {slots}, a whole number; "
            "`/` gives the share.",
        ),
        WrongAnswer(
            "the bubble twice, the work once",
            _both_ways,
            "`bubble` gave {got}: that has the bubble of both ways, there and back, and the {m} "
            "microbatches of one: they go both ways too.",
        ),
    ),
    ranked=False,
)
