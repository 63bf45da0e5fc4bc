"""Exercise 12.4, the halo: borrow the neighbours' border rows.

`with_halo(comm, rows, reach) -> tensor`: rows (own rows, columns); the result has `reach` rows
more above and below: the last ones of the rank before, the first ones of the rank after, zeros
beyond the picture. The claim: the values, exactly 2 · reach rows sent by an inner rank, all ranks
at once, so that the time does not grow with their number, and this rank's rows left as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.exercises.common import WORLDS, rng, self_hint
from helpers.exercises.compare import close, count, describe, is_array, short, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_split import changed, left_alone
from helpers.exercises.lesson_12 import halo_hints as hints
from helpers.exercises.lesson_12 import halo_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_HEIGHT = {1: 5, 2: 7, 3: 11, 5: 17}


def cases(seed: int) -> list[Case]:
    """Seed 0: a reach of 2 on 3, 1, 2 and 5 ranks, and of 1; other seeds other sizes."""
    random, made = rng(seed, "12.4"), []
    asked = [(ranks, 2, _HEIGHT[ranks]) for ranks in WORLDS] + [(5, 1, 12)]
    if seed:
        asked = []
        for ranks in WORLDS:
            reach = int(random.integers(2, 4))
            asked.append((ranks, reach, ranks * (reach + 1) + int(random.integers(0, ranks + 2))))
    asked.append((9, 1, 20))  # a chain from rank to rank takes its time here
    for ranks, reach, height in asked:
        columns = int(random.integers(3, 7))
        picture = random.standard_normal((height, columns))
        cuts = [(r * height // ranks, (r + 1) * height // ranks) for r in range(ranks)]
        args = tuple((picture[a:b], reach) for a, b in cuts)
        padded = np.pad(picture, ((reach, reach), (0, 0)))
        facts = {
            "want": [padded[a : b + 2 * reach] for a, b in cuts],
            "cuts": cuts,
            "picture": picture,
            "reach": reach,
        }
        name = f"On {count(ranks, 'rank')} with {height} rows and a reach of {reach}"
        clock = {"latency": hints.LATENCY, "bandwidth": hints.BANDWIDTH}
        made.append(Case(name, args, ranks, clock, facts))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The values; only the borders; all ranks at once."""
    if not_waited(case, seen):
        return not_waited(case, seen)
    for rank, want in enumerate(case.facts["want"]):
        got = seen.values[rank]
        if changed(got) is not None:
            return hints.overwrites(case, seen)
        if not is_array(got, want.shape):
            return (
                f"{case.name}, rank {rank} returned {describe(got)}; it should be a tensor of "
                f"shape {want.shape}."
            )
        if not close(got, want, 0.0):
            return f"{case.name}, rank {rank}'s rows with their halo are not those of the picture."
    if seen.bytes != hints.needed(case):
        borders = sum(hints.needed(case))
        return f"{case.name}, {sum(seen.bytes)} B were sent; the borders are {borders} B."
    if max(seen.seconds) > hints.quick(case):
        return f"{case.name}, it took {short(max(seen.seconds) * 1e3)} ms."
    return None


def _rounded(case: Case, seen: Observation) -> str | None:
    for rank, want in enumerate(case.facts["want"]):
        got = seen.values[rank]
        if is_array(got, want.shape) and got.dtype == np.float32 and close(got, want, 1e-6):
            return (
                f"{case.name}, rank {rank}'s values are rounded: its tensor is float32, as "
                "`torch.zeros` makes them, and `rows` is float64. `rows.new_zeros(…)` takes its "
                "type."
            )
    return None


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    usual = [case for case in cases if case.ranks in WORLDS]  # nine are there for chains alone
    return (
        f"Passed on {worlds(usual)}: an inner rank sends 2 · reach rows, whatever the picture's "
        "height, and all ranks at once."
    )


EXERCISE = Exercise(
    number="12.4",
    title="The halo",
    stars=2,
    minutes=15,
    points=3,
    function="with_halo",
    asks=(
        "this rank's rows, with the last `reach` rows of the rank before it above and the first "
        "`reach` rows of the rank after it below; zeros beyond the picture."
    ),
    cases=cases,
    drive=left_alone,
    claim=claim,
    mistakes=(
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("a neighbour that does not exist", hints.beyond, unfinished=True),
        Mistake("a send or a receive is missing", hints.one_alone, unfinished=True),
        Mistake("everybody waits for a neighbour", hints.all_wait, unfinished=True),
        Mistake("messages not waited for", not_waited),
        Mistake("writes into what it is given", hints.overwrites),
        Mistake("rounded to float32", _rounded),
        Mistake("a ring", hints.ring),
        Mistake("the border of the other side", hints.wrong_side),
        Mistake("the halos on the wrong sides", hints.upside_down),
        Mistake("the neighbours swapped", hints.neighbours_swapped),
        Mistake("one side only", hints.one_side),
        Mistake("something else than zeros", hints.beyond_not_zero),
        Mistake("no zeros beyond the picture", hints.no_zeros),
        Mistake("one row only", hints.one_row),
        Mistake("more than the borders", hints.whole_slices),
        Mistake("one rank after the other", hints.in_a_chain),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("no guard", wrong.no_guard, hint="asks for a neighbour above it"),
        WrongAnswer("blocking sends", wrong.blocking, hint="every rank sends first and waits"),
        WrongAnswer("receives first", wrong.receives_first, hint="every rank receives first"),
        WrongAnswer("never sends down", wrong.never_sends_down, hint="never sent them"),
        WrongAnswer("misses the last", wrong.misses_the_last, hint="without receiving them"),
        WrongAnswer("never waits", wrong.never_waits, hint="returned without waiting for"),
        WrongAnswer("in place", wrong.in_place, hint="you wrote into them"),
        WrongAnswer("in float32", wrong.in_float32, hint="`rows.new_zeros(…)` takes"),
        WrongAnswer("wrong sides", wrong.wrong_sides, hint="the halos lie on the wrong sides"),
        WrongAnswer("neighbours swapped", wrong.swapped, hint="the rank after for the one above"),
        WrongAnswer("one side", wrong.one_side, hint="borrowed anything below its rows"),
        WrongAnswer("repeats the border", wrong.repeats, hint="something else than zeros"),
        WrongAnswer("a ring", wrong.ring, hint="that is a ring"),
        WrongAnswer("other side", wrong.other_side, hint="the rank above needs your first rows"),
        WrongAnswer("no zeros", wrong.no_zeros, hint="rows short"),
        WrongAnswer("one row", wrong.one_row, hint="one row was borrowed"),
        WrongAnswer(
            "whole slices", wrong.whole_slices, hint="only the rows that the neighbour sees"
        ),
        WrongAnswer("a chain", wrong.chain, hint="one after the other"),
    ),
    figure=0,
)
