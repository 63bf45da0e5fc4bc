"""Exercise NN.2, steps an epoch: an ordinary function.

`steps_an_epoch(rows, batch) -> int`: how many batches of `batch` rows it takes until every row was
used; the last one may be smaller. The claim: a whole number, for every remainder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.checks.compare import count, describe
from helpers.checks.drives.calling import plain_call
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers


def cases(seed: int) -> list[Case]:
    """Seed 0: with a remainder, without, and fewer rows than a batch; else drawn ones."""
    random = rng(seed, "NN.2")
    sizes = [(1000, 300), (1000, 250), (7, 32), (0, 8)]
    if seed:
        batches = [int(b) for b in random.integers(2, 200, 4)]
        rows = [int(r) for r in random.integers(1, 5000, 2)]
        sizes = [(rows[0] * batches[0] + 1, batches[0]), (rows[1] * batches[1], batches[1])]
        sizes += [(batches[2] - 1, batches[2]), (0, batches[3])]
    return [
        Case(f"With {count(r, 'row')} in batches of {b}", ((r, b),), facts={"steps": -(-r // b)})
        for r, b in sizes
    ]


def claim(case: Case, seen: Observation) -> str | None:
    """The number of batches, as a whole number."""
    got, want = seen.values[0], case.facts["steps"]
    if type(got) is not int or got != want:
        return f"you gave {describe(got)} steps; there are {want}."
    return None


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    rows, batch = case.args[0]
    got, want = describe(seen.values[0]), case.facts["steps"]
    return {"got": got, "want": want, "rest": count(rows % batch, "row")}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return f"Passed: {seen[0].values[0]} steps in the first case, with and without a remainder."


def reference(rows: int, batch: int) -> int:
    """The course's own."""
    return -(-rows // batch)


WRONG = """
leaves the remainder out
    | -(-rows // batch) => rows // batch
    you gave {got} steps; there are {want}. The last {rest} make a smaller batch: round up.
adds one always
    | -(-rows // batch) => rows // batch + 1
    you gave {got} steps; there are {want}: without a remainder there is no further step.
counts a part of a step
    | -(-rows // batch) => rows / batch
    you gave {got}, and there is no part of a step: the last batch counts whole.
"""

EXERCISE = Exercise(
    number="NN.2",
    title="Steps an epoch",
    size=Size(stars=1, minutes=5, points=1),
    function="steps_an_epoch",
    asks="how many batches it takes until every row was used; the last one may be smaller.",
    cases=cases,
    drive=plain_call,
    claim=claim,
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("NN.2", WRONG, reference),
    ranked=False,
)
