"""Exercise 03.2, averaging gradients so that N ranks equal one big batch.

`average_gradients(comm, model, rows, total) -> None`: this rank's gradients are those of the mean
over its `rows` rows; afterwards every rank's are those of the mean over all `total` rows. The
claim: equal to one big batch in float64 to 1e-12, with uneven shards too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import all_close, count, listing, worlds
from helpers.exercises.drives_training import on_gradients
from helpers.exercises.lesson_03.replicas import Arrays, combine, gradients, random_weights
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-12
_LAYERS = (4, 6, 3)


def cases(seed: int) -> list[Case]:
    """Seed 0: even shards on 3 ranks, then uneven ones on 3, 1, 2 and 5; else uneven."""
    random, made = rng(seed, "03.2"), []
    shapes = [(6, 3), (7, 3), (4, 1), (5, 2), (13, 5)]
    if seed:
        shapes = [(n * int(random.integers(1, 6)) + max(n - 1, 1), n) for n in (1, 2, 3, 5, 6)]
    for rows, n in shapes:
        weights = random_weights(random, _LAYERS)
        inputs = random.standard_normal((rows, _LAYERS[0]))
        targets = random.standard_normal((rows, _LAYERS[-1]))
        cuts = [slice(r * rows // n, (r + 1) * rows // n) for r in range(n)]
        args = tuple((weights, inputs[c], targets[c], rows) for c in cuts)
        local = [gradients(weights, inputs[c], targets[c]) for c in cuts]
        facts = {
            "local": local,
            "rows": [c.stop - c.start for c in cuts],
            "weights": weights,
            "want": gradients(weights, inputs, targets),
        }
        name = f"On {count(n, 'rank')} with {rows} rows"
        made.append(Case(name, args, n, facts=facts))
    return made


def _all(case: Case, seen: Observation, want: Arrays) -> bool:
    """Whether every rank ended with these gradients."""
    return not seen.trouble and all(
        all_close(v["gradients"], want, _TOLERANCE) for v in seen.values
    )


def claim(case: Case, seen: Observation) -> str | None:
    """Every rank has the big batch's gradients."""
    for rank, value in enumerate(seen.values):
        if not all_close(value["gradients"], case.facts["want"], _TOLERANCE):
            return f"{case.name}, rank {rank}'s gradients are not those of one batch of all rows."
        if not all_close(value["weights"], case.facts["weights"], 0.0):
            return f"{case.name}, rank {rank}'s weights changed: only gradients were to change."
    return None


def _untouched(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or seen.trouble:
        return None
    for value, local in zip(seen.values, case.facts["local"], strict=True):
        if not all_close(value["gradients"], local, _TOLERANCE):
            return None
    sent = sum(seen.messages)
    why = "the sum was made, but not written back into `parameter.grad`" if sent else "nothing sent"
    return f"{case.name}, every rank still has its own gradients: {why}."


def _summed(case: Case, seen: Observation) -> str | None:
    n = case.ranks
    if n == 1 or not _all(case, seen, combine(case.facts["local"], [1.0] * n)):
        return None
    return (
        f"{case.name}, each rank summed: the gradients are about {n} times as large as one big "
        "batch's. Multiply by rows / total before the sum; after it nothing is divided."
    )


def _unweighted(case: Case, seen: Observation) -> str | None:
    n, rows = case.ranks, case.facts["rows"]
    if len(set(rows)) == 1 or not _all(case, seen, combine(case.facts["local"], [1 / n] * n)):
        return None
    return (
        f"{case.name}, the ranks have {listing(rows)} rows and every rank counts the same: a row "
        "on a small shard counts for more. Multiply by rows / total instead of 1 / N."
    )


def _not_divided(case: Case, seen: Observation) -> str | None:
    rows = [float(r) for r in case.facts["rows"]]
    if max(rows) < 2 or not _all(case, seen, combine(case.facts["local"], rows)):
        return None
    return (
        f"{case.name}, the gradients are {sum(rows):.0f} times as large as one big batch's: they "
        "were multiplied by the rows and never divided by the total."
    )


def _by_the_total(case: Case, seen: Observation) -> str | None:
    local, rows = case.facts["local"], case.facts["rows"]
    if max(rows) < 2 or not _all(case, seen, combine(local, [1 / sum(rows)] * case.ranks)):
        return None
    return (
        f"{case.name}, the sum was divided by the total, but a rank's gradient is already a mean "
        "over its rows: multiply it by rows before the sum, or by rows / total at once."
    )


def _twice(case: Case, seen: Observation) -> str | None:
    n, rows = case.ranks, case.facts["rows"]
    share = [r / sum(rows) / n for r in rows]
    mean = [1 / n**2] * n
    for weights in (share, mean):
        if n > 1 and _all(case, seen, combine(case.facts["local"], weights)):
            return (
                f"{case.name}, the gradients are {n} times too small: rows / total is already "
                "the whole division, so do not divide by the number of ranks as well."
            )
    return None


def _after_the_sum(case: Case, seen: Observation) -> str | None:
    rows = case.facts["rows"]
    if len(set(rows)) == 1:
        return None
    for value, mine in zip(seen.values, rows, strict=True):
        share = [mine / sum(rows)] * case.ranks
        if not all_close(value["gradients"], combine(case.facts["local"], share), _TOLERANCE):
            return None
    return (
        f"{case.name}, every rank multiplied the sum by a share of its own, {listing(rows)} of "
        f"{sum(rows)} rows, so the ranks differ: multiply before the sum, not after."
    )


def _only_rank_0(case: Case, seen: Observation) -> str | None:
    right = [all_close(v["gradients"], case.facts["want"], 1e-9) for v in seen.values]
    if case.ranks == 1 or right != [True] + [False] * (case.ranks - 1):
        return None
    return (
        f"{case.name}, rank 0 has the average and the others have not: a reduce brings it to one "
        "rank. Every replica takes the step, so every rank needs it: all-reduce."
    )


def _some_do_not_come(case: Case, seen: Observation) -> str | None:
    if not seen.waiting or len(seen.waiting) == case.ranks:
        return None
    waits = [f"rank {r} {words}" for r, words in sorted(seen.waiting.items())]
    away = sorted(set(range(case.ranks)) - set(seen.waiting))
    return (
        f"{case.name}, {'; '.join(waits)}, but {'rank' if len(away) == 1 else 'ranks'} "
        f"{listing(away)} did not come: every rank calls the same all-reduces in the same order."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}: equal to one big batch to 12 digits in float64, uneven "
        "shards too."
    )


def reference(comm: Any, model: Any, rows: int, total: int) -> None:
    """The course's own."""
    from helpers.algorithms.data_parallel.data_parallel import average_gradients

    average_gradients(model, comm, weight=rows / total)


def _average(comm: Any, model: Any, before: float, after: float = 1.0) -> None:
    from helpers.algorithms.messages.collectives import all_reduce_ring

    for parameter in model.parameters():
        parameter.grad *= before
        all_reduce_ring(comm, parameter.grad)
        parameter.grad *= after


def sums(comm: Any, model: Any, rows: int, total: int) -> None:
    """Sums and never divides."""
    _average(comm, model, 1.0)


def plain_mean(comm: Any, model: Any, rows: int, total: int) -> None:
    """Divides by the number of ranks, whatever their rows."""
    _average(comm, model, 1.0, 1 / comm.size)


def never_divides(comm: Any, model: Any, rows: int, total: int) -> None:
    """Multiplies by its rows and forgets the total."""
    _average(comm, model, rows)


def divides_twice(comm: Any, model: Any, rows: int, total: int) -> None:
    """Multiplies by rows / total, and divides by N."""
    _average(comm, model, rows / total, 1 / comm.size)


def after_the_sum(comm: Any, model: Any, rows: int, total: int) -> None:
    """Multiplies the sum, which is right where all ranks have as many rows."""
    _average(comm, model, 1.0, rows / total)


def by_the_total(comm: Any, model: Any, rows: int, total: int) -> None:
    """Sums, and divides by all rows."""
    _average(comm, model, 1.0, 1 / total)


def into_a_copy(comm: Any, model: Any, rows: int, total: int) -> None:
    """Averages a copy of each gradient and drops it."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    for parameter in model.parameters():
        all_reduce_ring(comm, parameter.grad * (rows / total))


def reduce_only(comm: Any, model: Any, rows: int, total: int) -> None:
    """Reduces to rank 0 and stops there."""
    from helpers.algorithms.messages.collectives import reduce_naive

    for parameter in model.parameters():
        parameter.grad *= rows / total
        reduce_naive(comm, parameter.grad)


def rank_0_alone(comm: Any, model: Any, rows: int, total: int) -> None:
    """Only rank 0 calls the all-reduce: a deadlock."""
    if comm.rank == 0:
        _average(comm, model, rows / total)


EXERCISE = Exercise(
    number="03.2",
    title="Average the gradients",
    stars=2,
    minutes=12,
    points=3,
    function="average_gradients",
    asks=(
        "every parameter's `.grad` becomes the gradient of the mean over all `total` rows, on "
        "every rank: Σ rows/total · gradient over the ranks."
    ),
    cases=cases,
    drive=on_gradients,
    claim=claim,
    mistakes=(
        Mistake("not every rank takes part", _some_do_not_come, unfinished=True),
        Mistake("own gradients unchanged", _untouched),
        Mistake("sums without dividing", _summed),
        Mistake("every rank counts the same", _unweighted),
        Mistake("never divides by the total", _not_divided),
        Mistake("divides by the total alone", _by_the_total),
        Mistake("divides twice", _twice),
        Mistake("multiplies after the sum", _after_the_sum),
        Mistake("rank 0 alone has the average", _only_rank_0),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("sums", sums, hint="each rank summed"),
        WrongAnswer("plain mean", plain_mean, hint="every rank counts the same"),
        WrongAnswer("never divides", never_divides, hint="never divided by the total"),
        WrongAnswer("divides by the total", by_the_total, hint="already a mean"),
        WrongAnswer("after the sum", after_the_sum, hint="multiply before the sum, not after"),
        WrongAnswer("divides twice", divides_twice, hint="times too small"),
        WrongAnswer("into a copy", into_a_copy, hint="not written back"),
        WrongAnswer("reduce only", reduce_only, hint="a reduce brings it to one"),
        WrongAnswer("rank 0 alone", rank_0_alone, hint="did not come"),
    ),
)
