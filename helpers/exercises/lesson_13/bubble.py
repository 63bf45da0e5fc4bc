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
from helpers.exercises.lesson_13.play import play
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

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
        facts = {"share": idle(stages, microbatches, forward, backward)}
        facts |= dict(zip("pmfb", (stages, microbatches, forward, backward), strict=True))
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


def _gives(wrong: Callable[[int, int, float, float, float], float], words: str) -> Any:
    """A recogniser for a formula with one thing wrong, and what to say to it.

    wrong: of p, m, the seconds forward and back, and the right share.
    """

    def look(case: Case, seen: Observation) -> str | None:
        got, facts = number(seen.values[0]), case.facts
        p, m, f, b = (facts[letter] for letter in "pmfb")
        if got is None or abs(got - wrong(p, m, f, b, facts["share"])) > _TOLERANCE * max(
            1.0, abs(got)
        ):
            return None
        said = words.format(p=p, m=m, less=p - 1, slots=m + p - 1, share=short(facts["share"]))
        return f"{case.name}, `bubble` gave {short(got)}: {said}"

    return look


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

    return bubble(stages, microbatches)


def of_useful(stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0) -> float:
    """Idle time against useful time."""
    return (stages - 1) / microbatches


def busy(stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0) -> float:
    """The share in which a device works."""
    return microbatches / (microbatches + stages - 1)


def one_more(stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0) -> float:
    """One slot too many in the step."""
    return (stages - 1) / (microbatches + stages)


def forward_only(
    stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0
) -> float:
    """Counts the idle time of the way there, and not that of the way back."""
    slots = microbatches + stages - 1
    return (stages - 1) * forward / (slots * (forward + backward))


def without_microbatches(
    stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0
) -> float:
    """One stage at a time."""
    return 1 - 1 / stages


def in_seconds(
    stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0
) -> float:
    """The idle time itself."""
    return (stages - 1) * (forward + backward)


def in_percent(
    stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0
) -> float:
    """Per cent."""
    return 100 * (stages - 1) / (microbatches + stages - 1)


def whole_division(
    stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0
) -> float:
    """Divides as whole numbers are."""
    return (stages - 1) // (microbatches + stages - 1)


def both_ways(stages: int, microbatches: int, forward: float = 1.0, backward: float = 2.0) -> float:
    """Two bubbles, and the microbatches once."""
    return 2 * (stages - 1) / (microbatches + 2 * (stages - 1))


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
    mistakes=(
        Mistake(
            "idle against useful time",
            _gives(
                lambda p, m, f, b, share: (p - 1) / m,
                "that is idle time against useful time, {less} to {m}. The step takes both "
                "together: divide by {slots}.",
            ),
        ),
        Mistake(
            "the busy share",
            _gives(
                lambda p, m, f, b, share: 1 - share,
                "that is the share in which a device works; the bubble is the rest of it.",
            ),
        ),
        Mistake(
            "one slot too many",
            _gives(
                lambda p, m, f, b, share: (p - 1) / (m + p),
                "that is a step of {m} + {p} slots. The last stage starts after {less} slots and "
                "is busy for {m}, which makes {slots}.",
            ),
        ),
        Mistake(
            "idle on the way there alone",
            _gives(
                lambda p, m, f, b, share: share * f / (f + b),
                "that counts the idle time of the way there alone; a device waits as many slots "
                "on the way back, which take longer.",
            ),
        ),
        Mistake(
            "one stage at a time",
            _gives(
                lambda p, m, f, b, share: 1 - 1 / p,
                "that is what idles if the batch is in one piece and only one of {p} stages works "
                "at a time. With {m} microbatches the stages work at once.",
            ),
        ),
        Mistake(
            "idle seconds",
            _gives(
                lambda p, m, f, b, share: (p - 1) * (f + b),
                "those are the seconds in which a device idles; divide by those of the whole step.",
            ),
        ),
        Mistake(
            "per cent",
            _gives(
                lambda p, m, f, b, share: 100 * share,
                "that is per cent; a share of {share} was asked for.",
            ),
        ),
        Mistake(
            "whole-number division",
            _gives(
                lambda p, m, f, b, share: (p - 1) // (m + p - 1),
                "that is what `//` leaves of {less} by {slots}, a whole number; `/` gives the "
                "share.",
            ),
        ),
        Mistake(
            "the bubble twice, the work once",
            _gives(
                lambda p, m, f, b, share: 2 * (p - 1) / (m + 2 * (p - 1)),
                "that has the bubble of both ways, there and back, and the {m} microbatches of "
                "one: they go both ways too.",
            ),
        ),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("of useful time", of_useful, hint="idle time against useful time"),
        WrongAnswer("busy", busy, hint="the bubble is the rest of it"),
        WrongAnswer("one more slot", one_more, hint="The last stage starts after"),
        WrongAnswer("forward only", forward_only, hint="idle time of the way there alone"),
        WrongAnswer("no microbatches", without_microbatches, hint="the stages work at once"),
        WrongAnswer("seconds", in_seconds, hint="divide by those of the whole step"),
        WrongAnswer("per cent", in_percent, hint="that is per cent"),
        WrongAnswer("both ways", both_ways, hint="they go both ways too"),
        WrongAnswer("whole numbers", whole_division, hint="that is what `//` leaves"),
    ),
    ranked=False,
)
