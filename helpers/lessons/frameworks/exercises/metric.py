"""Exercise 04.4, a metric averaged over the ranks.

The claim: the mean over all ranks' rows, to 1e-6 (float32 will do); a tensor that holds one number
counts as a float, and the praise says so.
"""

from collections.abc import Iterator
from typing import Any

from helpers.checks.common import WORLDS, raised
from helpers.checks.compare import count, describe, is_array, listing, number, worlds
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.frameworks.algorithms.framework_steps import average_metric as reference
from helpers.lessons.frameworks.exercises import replicas
from helpers.lessons.frameworks.exercises.horovod import OfTorch

_TOLERANCE = 1e-6


def _on_metric(fn: Function, comm: Any, value: float, rows: int) -> Any:
    """`fn(hvd, value, rows)`; `values[rank]` is what it gave."""
    return fn(OfTorch(comm), value, rows)


on_metric = Ranked(_on_metric, arguments=3)


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with 60, 60 and 7 rows, then 1, 2 and 5; else other values and rows."""
    random, made = rng(seed, "04.4"), []
    shapes = {3: [60, 60, 7], 1: [8], 2: [30, 12], 5: [20, 20, 20, 20, 3]}
    for n in WORLDS:
        rows, values = shapes[n], [round(0.9 - 0.17 * r, 2) for r in range(n)]
        if seed:
            rows = sorted((int(r) for r in random.choice(range(3, 90), n, False)), reverse=True)
            values = [round(float(v), 3) for v in random.uniform(0.1, 2.0, n)]
        name = f"On {count(n, 'rank')} with {listing(rows)} rows"
        made.append(Case(name, tuple(zip(values, rows, strict=True)), n))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """The mean over all rows, on every rank."""
    want = sum(value * rows for value, rows in case.args) / sum(rows for _, rows in case.args)
    for rank, got in enumerate(seen.values):
        value = _number(got)
        if value is None or not abs(value - want) <= _TOLERANCE * abs(want):
            said = f"rank {rank} got {describe(got)}; it should get {want:.6g}"
            yield f"{said}, the mean over all rows."


def _number(got: Any) -> float | None:
    """A number, also from a tensor that holds nothing else."""
    return number(got.reshape(()) if is_array(got) and got.size == 1 else got)


def compared(case: Case, seen: Observation) -> Any:
    """The numbers, in whatever they are."""
    found = [_number(got) for got in seen.values]
    return "no number" if None in found else found


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    rows = [rows for _, rows in case.args]
    gone = [(rank, got) for rank, got in enumerate(seen.values) if _number(got) is None]
    rank, gave = gone[0] if gone else (None, None)
    told = {"n": case.ranks, "total": sum(rows), "most": rows[0], "few": rows[-1]}
    return told | {"got": describe(seen.values[0]), "rank": rank, "gave": describe(gave)}


WRONG = """
every rank counts the same
    | value * rows => value
    | total / everybody => total / hvd.size()
    a rank with {few} rows counts as much as one with {most}: {got} is the mean of the ranks' means.
    Let each value count with its rows.
own value
    | float(total / everybody) => value
    every rank gave its own value, of its rows alone.
sum of the means
    | value * rows => value
    | total / everybody => total
    {got} is the sum over {n} ranks, no mean.
no product
    | value * rows => value
    the sum of the values was divided by {total} rows: a value is a mean already. Multiply it by its
    rows before you sum.
never divides
    | total / everybody => total
    {got} is a sum: divide it by all {total} rows.
divides by its own rows
    | total / everybody => total / (rows * hvd.size())
    the sum was divided by a rank's own rows times {n}; the others have other numbers of rows. Sum
    the rows as well: {total}.
averaged twice
    | total / everybody => total / hvd.size() / everybody
    averaged twice: the mean over {n} ranks was divided by all rows. Sum both, value · rows and
    rows, then divide the one by the other.
rounded
    | value * rows => round(value * rows)
    value · rows was made a whole number: a metric need not count anything. Sum floats.
cut off
    | value * rows => int(value * rows)
    ! rounded
rank 0 asks
    | = hvd.allreduce => = (value, 1) if hvd.rank() else hvd.allreduce
    ? also by those that only receive
no number
    | return => return None if hvd.rank() else
    rank {rank} gave {gave}: each returns a float.
no tensor
    | torch.tensor([value * rows, rows], dtype=torch.float64) => value * rows
    ? given a float
an array
    | dtype=torch.float64) => dtype=torch.float64).numpy()
    ? given a ndarray
"""

EXERCISE = Exercise(
    number="04.4",
    title="A metric of all ranks",
    size=Size(stars=1, minutes=8, points=2),
    function="average_metric",
    asks="every rank gets Σ value · rows / Σ rows over the ranks.",
    cases=cases,
    drive=on_metric,
    claim=claim,
    mistakes=(
        replicas.NOT_ALL_COME,
        raised(
            "gives plain numbers",
            "hvd sends tensors",
            "rank {rank}: {text} Put the number into one, `torch.tensor([value], "
            "dtype=torch.float64)`.",
        ),
    ),
    numbers=numbers,
    compared=compared,
    praise=lambda cases, seen: (
        f"Passed on {worlds(cases)}: every row counts once, wherever it is."
        + " Yours is no plain float, which counts too; `float(…)` makes it what was promised."
        * any(is_array(value) for each in seen for value in each.values)
    ),
    reference=reference,
    wrong=wrong_answers("04.4", WRONG, reference),
)
