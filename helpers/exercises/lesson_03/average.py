"""Exercise 03.2, averaging gradients so that N ranks equal one big batch.

`average_gradients(comm, model, rows, total) -> None`: this rank's gradients are those of the mean
over its `rows` rows; afterwards every rank's are those of the mean over all `total` rows. The
claim: equal to one big batch in float64 to 1e-12, with uneven shards too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import all_close, count, listing, worlds
from helpers.exercises.drives_training import on_gradients
from helpers.exercises.lesson_03.replicas import gradients, random_weights
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
        facts = {"weights": weights, "want": gradients(weights, inputs, targets)}
        name = f"On {count(n, 'rank')} with {rows} rows"
        made.append(Case(name, args, n, facts=facts))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """Every rank has the big batch's gradients."""
    for rank, value in enumerate(seen.values):
        if not all_close(value["gradients"], case.facts["want"], _TOLERANCE):
            return f"{case.name}, rank {rank}'s gradients are not those of one batch of all rows."
        if not all_close(value["weights"], case.facts["weights"], 0.0):
            return f"{case.name}, rank {rank}'s weights changed: only gradients were to change."
    return None


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the ranks, and how many rows each has."""
    return {
        "n": case.ranks,
        "rows": listing(len(inputs) for _, inputs, _, _ in case.args),
        "total": case.args[0][3],
    }


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


def reference(comm: Any, model: Any, rows: float, total: int) -> None:
    """The course's own."""
    from helpers.algorithms.data_parallel.data_parallel import average_gradients

    average_gradients(comm, model, rows, total)


Factor = Callable[[int, int, int], float]


def _weighed(before: Factor, after: Factor = lambda rows, total, n: 1) -> Callable[..., None]:
    """The reference with other factors before and after the sum, of rows, total and ranks."""

    def average_gradients(comm: Any, model: Any, rows: int, total: int) -> None:
        reference(comm, model, before(rows, total, comm.size), 1)
        for parameter in model.parameters():
            parameter.grad *= after(rows, total, comm.size)

    return average_gradients


_sums = _weighed(lambda rows, total, n: 1)
_plain_mean = _weighed(lambda rows, total, n: 1 / n)
_never_divides = _weighed(lambda rows, total, n: rows)
_by_the_total = _weighed(lambda rows, total, n: 1 / total)
_divides_twice = _weighed(lambda rows, total, n: rows / total / n)
_after_the_sum = _weighed(lambda rows, total, n: 1, lambda rows, total, n: rows / total)


def _nothing(comm: Any, model: Any, rows: int, total: int) -> None:
    pass


def _into_a_copy(comm: Any, model: Any, rows: int, total: int) -> None:
    own = [parameter.grad.clone() for parameter in model.parameters()]
    reference(comm, model, rows, total)
    for parameter, gradient in zip(model.parameters(), own, strict=True):
        parameter.grad = gradient


def _reduce_only(comm: Any, model: Any, rows: int, total: int) -> None:
    from helpers.algorithms.messages.collectives import reduce_naive

    for parameter in model.parameters():
        parameter.grad *= rows / total
        reduce_naive(comm, parameter.grad)


def _rank_0_alone(comm: Any, model: Any, rows: int, total: int) -> None:
    if comm.rank == 0:
        reference(comm, model, rows, total)


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
        Mistake("rank 0 alone has the average", _only_rank_0),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("reduce only", _reduce_only, hint="a reduce brings it to one"),
        WrongAnswer("rank 0 alone", _rank_0_alone, hint="did not come"),
        WrongAnswer(
            "sends nothing",
            _nothing,
            "every rank still has its own gradients: nothing sent.",
        ),
        WrongAnswer(
            "own gradients unchanged",
            _into_a_copy,
            "every rank still has its own gradients: the sum was made, but not written back into "
            "`parameter.grad`.",
        ),
        WrongAnswer(
            "sums without dividing",
            _sums,
            "each rank summed: the gradients are about {n} times as large as one big batch's. "
            "Multiply by rows / total before the sum; after it nothing is divided.",
        ),
        WrongAnswer(
            "every rank counts the same",
            _plain_mean,
            "the ranks have {rows} rows and every rank counts the same: a row on a small shard "
            "counts for more. Multiply by rows / total instead of 1 / N.",
        ),
        WrongAnswer(
            "never divides by the total",
            _never_divides,
            "the gradients are {total} times as large as one big batch's: they were multiplied by "
            "the rows and never divided by the total.",
        ),
        WrongAnswer(
            "divides by the total alone",
            _by_the_total,
            "the sum was divided by the total, but a rank's gradient is already a mean over its "
            "rows: multiply it by rows before the sum, or by rows / total at once.",
        ),
        WrongAnswer(
            "divides twice",
            _divides_twice,
            "the gradients are {n} times too small: rows / total is already the whole division, "
            "so do not divide by the number of ranks as well.",
        ),
        WrongAnswer(
            "multiplies after the sum",
            _after_the_sum,
            "every rank multiplied the sum by a share of its own, {rows} of {total} rows, so the "
            "ranks differ: multiply before the sum, not after.",
        ),
    ),
)
