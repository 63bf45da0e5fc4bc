"""Exercise 12.4, the halo: borrow the neighbours' border rows.

`with_halo(comm, rows, reach) -> tensor`: rows (own rows, columns); the result has `reach` rows
more above and below: the last ones of the rank before, the first ones of the rank after, zeros
beyond the picture. The claim: the values, exactly 2 · reach rows sent by an inner rank, and all
ranks at once: the time does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.exercises.common import WORLDS, rng, self_hint
from helpers.exercises.compare import close, count, describe, is_array, short, worlds
from helpers.exercises.drives import on_ranks
from helpers.exercises.lesson_12 import halo_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_LATENCY, _BANDWIDTH = 1e-3, 1e6
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
        clock = {"latency": _LATENCY, "bandwidth": _BANDWIDTH}
        made.append(Case(name, args, ranks, clock, facts))
    return made


def _row(case: Case) -> int:
    return int(case.facts["picture"][0].nbytes)


def _needed(case: Case) -> list[int]:
    borders = [(r > 0) + (r < case.ranks - 1) for r in range(case.ranks)]
    return [n * case.facts["reach"] * _row(case) for n in borders]


def _quick(case: Case) -> float:
    """Seconds that suffice to send and receive on both sides in turn, however many ranks."""
    return 4.4 * (_LATENCY + case.facts["reach"] * _row(case) / _BANDWIDTH)


def _values(case: Case, seen: Observation) -> bool:
    pairs = zip(seen.values, case.facts["want"], strict=True)
    return not seen.trouble and all(close(got, want, 0.0) for got, want in pairs)


def claim(case: Case, seen: Observation) -> str | None:
    """The values; only the borders; all ranks at once."""
    for rank, want in enumerate(case.facts["want"]):
        got = seen.values[rank]
        if not is_array(got, want.shape):
            return (
                f"{case.name}, rank {rank} returned {describe(got)}; it should be a tensor of "
                f"shape {want.shape}."
            )
        if not close(got, want, 0.0):
            return f"{case.name}, rank {rank}'s rows with their halo are not those of the picture."
    if seen.bytes != _needed(case):
        return (
            f"{case.name}, {sum(seen.bytes)} B were sent; the borders are {sum(_needed(case))} B."
        )
    if max(seen.seconds) > _quick(case):
        return f"{case.name}, it took {short(max(seen.seconds) * 1e3)} ms."
    return None


def _all_wait(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "deadlock" or not seen.waiting:
        return None
    words = next(iter(seen.waiting.values()))
    doing = "sends" if "send" in words else "receives"
    return (
        f"{case.name}, every rank {doing} first and waits for a neighbour that does the same. "
        "Start your sends with `isend`, receive, and wait for the sends afterwards."
    )


def _ring(case: Case, seen: Observation) -> str | None:
    picture, reach = case.facts["picture"], case.facts["reach"]
    turned = np.concatenate([picture[-reach:], picture, picture[:reach]])
    wants = [turned[a : b + 2 * reach] for a, b in case.facts["cuts"]]
    if not all(close(got, want, 0.0) for got, want in zip(seen.values, wants, strict=True)):
        return None
    return (
        f"{case.name}, the first rank borrowed from the last: that is a ring. A picture ends at "
        "its top and bottom, where the halo is zeros and nobody is asked."
    )


def _wrong_side(case: Case, seen: Observation) -> str | None:
    picture, reach, cuts = case.facts["picture"], case.facts["reach"], case.facts["cuts"]
    if case.ranks == 1:
        return None
    nothing = np.zeros((reach, picture.shape[1]))
    for rank, (a, b) in enumerate(cuts):
        # The rows that are farthest: the neighbour's first ones above, its last ones below.
        above = picture[slice(*cuts[rank - 1])][:reach] if rank else nothing
        below = picture[slice(*cuts[rank + 1])][-reach:] if rank + 1 < len(cuts) else nothing
        if not close(seen.values[rank], np.concatenate([above, picture[a:b], below]), 0.0):
            return None
    return (
        f"{case.name}, each rank sent the border that lies on the other side: the rank above needs "
        "your first rows, the rank below your last."
    )


def _no_zeros(case: Case, seen: Observation) -> str | None:
    reach = case.facts["reach"]
    wants = [w.copy() for w in case.facts["want"]]
    wants[0] = wants[0][reach:]
    wants[-1] = wants[-1][:-reach]
    if not all(close(got, want, 0.0) for got, want in zip(seen.values, wants, strict=True)):
        return None
    return (
        f"{case.name}, the first and the last rank's results are {reach} rows short: beyond the "
        "picture the halo is zeros, or the convolution would lose rows there."
    )


def _one_row(case: Case, seen: Observation) -> str | None:
    reach = case.facts["reach"]
    padded = np.pad(case.facts["picture"], ((1, 1), (0, 0)))
    wants = [padded[a : b + 2] for a, b in case.facts["cuts"]]
    if reach == 1 or not all(close(g, w, 0.0) for g, w in zip(seen.values, wants, strict=True)):
        return None
    return f"{case.name}, one row was borrowed on each side: a reach of {reach} needs {reach} rows."


def _whole_slices(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or not _values(case, seen) or sum(seen.bytes) <= sum(_needed(case)):
        return None
    return (
        f"{case.name}, the values are right, but {sum(seen.bytes)} B were sent and the borders are "
        f"{sum(_needed(case))} B: send only the rows that the neighbour sees."
    )


def _in_a_chain(case: Case, seen: Observation) -> str | None:
    if not _values(case, seen) or max(seen.seconds) <= _quick(case):
        return None
    return (
        f"{case.name}, the values are right, but the ranks went one after the other: "
        f"{short(max(seen.seconds) * 1e3)} ms where {short(_quick(case) * 1e3)} ms are enough. "
        "Send to both neighbours with `isend` before you wait for either."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}: an inner rank sends 2 · reach rows, whatever the picture's "
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
    drive=on_ranks,
    claim=claim,
    mistakes=(
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("everybody waits for a neighbour", _all_wait, unfinished=True),
        Mistake("a ring", _ring),
        Mistake("the border of the other side", _wrong_side),
        Mistake("no zeros beyond the picture", _no_zeros),
        Mistake("one row only", _one_row),
        Mistake("more than the borders", _whole_slices),
        Mistake("one rank after the other", _in_a_chain),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("blocking sends", wrong.blocking, "waits for a neighbour that does the same"),
        WrongAnswer("a ring", wrong.ring, "that is a ring"),
        WrongAnswer("other side", wrong.other_side, "the rank above needs your first rows"),
        WrongAnswer("no zeros", wrong.no_zeros, "rows short"),
        WrongAnswer("one row", wrong.one_row, "one row was borrowed"),
        WrongAnswer("whole slices", wrong.whole_slices, "only the rows that the neighbour sees"),
        WrongAnswer("a chain", wrong.chain, "one after the other"),
    ),
    figure=0,
)
