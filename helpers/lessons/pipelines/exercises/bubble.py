"""Exercise 13.1, the bubble.

`bubble(stages, microbatches, forward=1.0, backward=2.0) -> float`: the share of the time of a step
in which a device idles, where every stage takes as long. The claim is what comes out when all
microbatches go forward and then all go back, played on paper: (p − 1)/(m + p − 1), whatever a
forward and a backward take (Huang et al. 2019, section 2.3).
"""

from collections.abc import Sequence
from functools import wraps
from numbers import Real
from typing import Any

from helpers.checks.compare import count, describe, number, short, told_apart
from helpers.checks.drives.calling import Function, plain_call
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.pipelines.algorithms.schedules import bubble as reference
from helpers.lessons.pipelines.exercises.schedule import seconds

_TOLERANCE = 1e-6


def one_number(fn: Function, case: Case) -> Observation:
    """As `plain_call`, and a number of any kind, a Fraction too, stands as a float."""

    @wraps(fn)
    def answer(*args: Any) -> Any:
        value = fn(*args)
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else value

    return plain_call(answer, case)


def cases(seed: int) -> list[Case]:
    """Seed 0: 4, 1, 2, 5 and 8 stages, backward longer than forward or as long; else others."""
    random = rng(seed, "13.1")
    shapes = [(4, 10, 1.0, 2.5), (1, 4, 1.0, 2.0), (2, 3, 1.0, 1.0), (5, 2, 1.0, 2.0)]
    shapes += [(8, 32, 0.5, 1.5)]
    if seed:
        shapes = []
        for stages in (3, 1, 2, 5, int(random.integers(6, 12))):
            there, back = (round(float(random.uniform(0.2, 3.0)), 2) for _ in range(2))
            few = stages == 5  # microbatches, fewer than idle slots
            microbatches = int(random.integers(*((1, 4) if few else (6, 25))))
            shapes.append((stages, microbatches, there, back))
    made = []
    for stages, microbatches, forward, backward in shapes:
        told = [(kind, i, 0) for kind in "FB" for i in range(microbatches)]
        whole = seconds([told] * stages, forward, backward)
        share = 1 - microbatches * (forward + backward) / whole
        facts = {"share": share, "p": stages, "m": microbatches}
        name = f"With {count(stages, 'stage')}, {count(microbatches, 'microbatch', 'microbatches')}"
        args: tuple[Any, ...] = (stages, microbatches)
        if stages == 5:  # a call as the lesson's own
            name += " and no seconds"
        else:
            name, args = (
                f"{name}, {forward:g} s forward and {backward:g} s back",
                (*args, forward, backward),
            )
        made.append(Case(name, (args,), facts=facts))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The share that comes out on paper."""
    got, want = number(seen.values[0]), case.facts["share"]
    if got is None:
        return f"`bubble` gave {describe(seen.values[0])}; it should be a number."
    if abs(got - want) <= _TOLERANCE:
        return None
    given, right = told_apart(got, want)
    return f"`bubble` gave {given}; {_why(case, right)}"


def _why(case: Case, right: str = "") -> str:
    """How the share is made up, in the case's numbers."""
    stages, microbatches = case.facts["p"], case.facts["m"]
    return (
        f"it is {right or short(case.facts['share'])}. The last stage starts after "
        f"{count(stages - 1, 'slot')} and then works in {microbatches}, and the way back takes as "
        "many slots."
    )


def _neighbours(case: Case, seen: Observation) -> str | None:
    """Idle slots and slots of a step, of which one or both are counted one off."""
    got, stages, microbatches = number(seen.values[0]), case.facts["p"], case.facts["m"]
    for i, n in ((0, 1), (0, -1), (1, 0), (1, 1), (-1, 0), (-1, -1)):
        idle, slots = stages - 1 + i, microbatches + stages - 1 + n
        if got is not None and slots > 0 < idle and abs(got - idle / slots) <= _TOLERANCE:
            said = f"the share of {count(idle, 'idle slot')} in {slots}"
            return f"`bubble` gave {short(got)}, {said}; {_why(case)}"
    return None


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: what came, and how the step is made up."""
    stages, microbatches = case.facts["p"], case.facts["m"]
    return {
        "got": short(number(seen.values[0])),
        "right": short(case.facts["share"]),
        "p": stages,
        "m": microbatches,
        "less": stages - 1,
        "slots": microbatches + stages - 1,
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    shares = [
        f"{100 * case.facts['share']:.0f} % with {case.facts['p']} stages and "
        f"{case.facts['m']} microbatches"
        for case in (cases[0], cases[-1])
    ]
    return f"Passed: a device idles {' and '.join(shares)}, however long forward and backward take."


def share(p: int, m: int, f: float = 1.0, b: float = 2.0) -> float:
    """Of p stages and m microbatches, f s forward and b s back: what the patches change."""
    return (p - 1) / (m + p - 1)


WRONG = """
against useful time
    | / (m + p - 1) => / m
    `bubble` gave {got}: that is idle against useful time, {less} to {m}.
the busy share
    | (p - 1) / => m /
    `bubble` gave {got}: that is the share in which a device works; the rest is idle.
one slot too many
    | (m + p - 1) => (m + p)
    ? 3 idle slots in 14
one slot too few
    | (m + p - 1) => max(m + p - 2, 1)
    ? 3 idle slots in 12
each stage is an idle slot
    | (p - 1) / => p /
    ? 4 idle slots in 13
a stage too many
    | (p - 1) / (m + p - 1) => p / (m + p)
    ? 4 idle slots in 14
one way alone
    | (p - 1) / => (p - 1) * f / (f + b) /
    `bubble` gave {got}: that is the idle time of one way, in a step of both.
one stage at a time
    | (p - 1) / (m + p - 1) => 1 - 1 / p
    `bubble` gave {got}: that is what idles if the batch is in one piece and only one of {p} stages
    works at a time. With {m} microbatches the stages work at once.
no more idle slots than microbatches
    | (p - 1) / (m + p - 1) => min(p - 1, m) / (m + min(p - 1, m))
    `bubble` gave {got}: that is as many idle slots as there are microbatches, {m}. The last stage
    waits for {less} slots, also where there are fewer microbatches.
idle seconds
    | / (m + p - 1) => * (f + b)
    `bubble` gave {got}: that is idle seconds; divide by those of the whole step.
per cent
    | (p - 1) / => 100 * (p - 1) /
    `bubble` gave {got}: that is per cent; a share between 0 and 1 was asked for.
whole-number division
    | / (m + p - 1) => // (m + p - 1)
    `bubble` gave {got}; it is {right}. Such a whole number is what `//` leaves of a share.
twice
    | (p - 1) / (m + p - 1) => 2 * (p - 1) / (m + 2 * (p - 1))
    `bubble` gave {got}: that is the bubble of both ways beside the {m} microbatches of one.
idle slots twice
    | (p - 1) / => 2 * (p - 1) /
    `bubble` gave {got}: that is the idle slots of both ways in the {slots} of one.
idle time of all
    | (p - 1) / => p * (p - 1) /
    `bubble` gave {got}: that is what all {p} devices idle together, in one step.
a backward of twice the forward
    | (p - 1) / => (p - 1) * 3 * f / (f + b) /
    `bubble` gave {got}: that is idle time with a backward taken for twice a forward, in a step with
    the one given.
a step of twice the forward
    | (p - 1) / => (p - 1) * (f + b) / (3 * f) /
    `bubble` gave {got}: that is the idle time given, in a step whose backward was taken for twice a
    forward.
no parentheses
    | (p - 1) / => p - 1 /
    `bubble` gave {got}: that is {p} − 1/{slots}: `/` comes before `-`.
"""

EXERCISE = Exercise(
    number="13.1",
    title="The bubble",
    size=Size(stars=1, minutes=8, points=2),
    function="bubble",
    asks=(
        "the share of a step's time in which a device idles, when all microbatches go forward "
        "through equal stages and then all go back."
    ),
    cases=cases,
    drive=one_number,
    claim=claim,
    mistakes=(Mistake("slots miscounted", _neighbours),),
    numbers=numbers,
    compared=lambda case, seen: number(seen.values[0]),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("13.1", WRONG, share),
    ranked=False,
)
