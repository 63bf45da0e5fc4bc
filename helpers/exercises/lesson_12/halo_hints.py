"""What exercise 12.4's check asks of an answer, and the hints for halos with one thing wrong."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from helpers.exercises.compare import close, short
from helpers.exercises.drives_split import changed
from helpers.exercises.spec import Case, Observation

LATENCY, BANDWIDTH = 1e-3, 1e6


def _row(case: Case) -> int:
    return int(case.facts["picture"][0].nbytes)


def needed(case: Case) -> list[int]:
    borders = [(r > 0) + (r < case.ranks - 1) for r in range(case.ranks)]
    return [n * case.facts["reach"] * _row(case) for n in borders]


def quick(case: Case) -> float:
    """Seconds that suffice to send and receive on both sides in turn, however many ranks."""
    return 4.4 * (LATENCY + case.facts["reach"] * _row(case) / BANDWIDTH)


def _values(case: Case, seen: Observation) -> bool:
    pairs = zip(seen.values, case.facts["want"], strict=True)
    return not seen.trouble and all(close(got, want, 0.0) for got, want in pairs)


def overwrites(case: Case, seen: Observation) -> str | None:
    for rank, value in enumerate(seen.values):
        if changed(value) == 0:
            return (
                f"{case.name}, rank {rank}'s `rows` are not what they were: you wrote into them. "
                "Backward needs them as they are, so put the wider picture into a new tensor."
            )
    return None


def beyond(case: Case, seen: Observation) -> str | None:
    """A neighbour that does not exist."""
    if seen.trouble != "failed" or "but the ranks are 0 to" not in seen.text:
        return None
    who, does = (
        ("rank 0", "above")
        if f"rank {case.ranks}," not in seen.text
        else (
            f"rank {case.ranks - 1}",
            "below",
        )
    )
    return (
        f"{case.name}, {who} asks for a neighbour {does} it, and there is none. A picture ends "
        "there, and the halo is zeros: send and receive only where there is a neighbour."
    )


def _waits(seen: Observation) -> list[tuple[int, str, int]]:
    """Who waits for whom: (rank, "send" or "receive", the other)."""
    found = []
    for rank, words in sorted(seen.waiting.items()):
        match = re.search(r"(send|receive)\b.* rank (\d+)", words)
        if match and "returned" not in words:
            found.append((rank, match[1], int(match[2])))
    return found


def one_alone(case: Case, seen: Observation) -> str | None:
    """A rank that waits for one that has returned: a send or a receive is missing there."""
    waits = _waits(seen)
    there = {rank for rank, _, _ in waits}
    for rank, doing, other in waits:
        if other in there:
            continue
        if doing == "receive":
            way = "last" if other < rank else "first"
            return (
                f"{case.name}, rank {rank} waits for the {way} rows of rank {other}, which has "
                "returned and never sent them: a rank sends its first rows up and its last rows "
                "down, wherever it has a neighbour there."
            )
        way = "last" if other > rank else "first"
        return (
            f"{case.name}, rank {rank} sends its {way} rows to rank {other}, which has returned "
            "without receiving them: a rank has a halo on every side where it has a neighbour."
        )
    return None


def all_wait(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "deadlock" or not seen.waiting:
        return None
    doings = {doing for _, doing, _ in _waits(seen)}
    if doings == {"receive"}:
        return (
            f"{case.name}, every rank receives first and waits for a neighbour that does the same. "
            "Start both sends with `isend` before you receive."
        )
    return (
        f"{case.name}, every rank sends first and waits for a neighbour that does the same. "
        "Start your sends with `isend`, receive, and wait for the sends afterwards."
    )


def ring(case: Case, seen: Observation) -> str | None:
    picture, reach = case.facts["picture"], case.facts["reach"]
    turned = np.concatenate([picture[-reach:], picture, picture[:reach]])
    wants = [turned[a : b + 2 * reach] for a, b in case.facts["cuts"]]
    if not all(close(got, want, 0.0) for got, want in zip(seen.values, wants, strict=True)):
        return None
    return (
        f"{case.name}, the first rank borrowed from the last: that is a ring. A picture ends at "
        "its top and bottom, where the halo is zeros and nobody is asked."
    )


def wrong_side(case: Case, seen: Observation) -> str | None:
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


def _halos(case: Case, rank: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What belongs above a rank's rows, its rows, and what belongs below."""
    want, reach = case.facts["want"][rank], case.facts["reach"]
    return want[:reach], want[reach:-reach], want[-reach:]


def _all(case: Case, seen: Observation, parts: Callable[[int], list[np.ndarray]]) -> bool:
    """Whether every rank returned these parts, one below the other."""
    return case.ranks > 1 and all(
        close(value, np.concatenate(parts(rank)), 0.0) for rank, value in enumerate(seen.values)
    )


def upside_down(case: Case, seen: Observation) -> str | None:
    if not _all(case, seen, lambda rank: list(_halos(case, rank)[::-1])):
        return None
    return (
        f"{case.name}, the halos lie on the wrong sides: what comes from the rank before belongs "
        "above, what comes from the rank after below. `torch.cat([above, rows, below])`."
    )


def neighbours_swapped(case: Case, seen: Observation) -> str | None:
    reach, cuts = case.facts["reach"], case.facts["cuts"]
    nothing = np.zeros_like(case.facts["picture"][:reach])

    def parts(rank: int) -> list[np.ndarray]:
        mine = [case.facts["picture"][a:b] for a, b in cuts]
        above = mine[rank + 1][-reach:] if rank + 1 < case.ranks else nothing
        return [above, mine[rank], mine[rank - 1][:reach] if rank else nothing]

    if not _all(case, seen, parts):
        return None
    return (
        f"{case.name}, you take the rank after for the one above. Rank 0 has the picture's top: "
        "above a rank lies the one before it, `comm.rank - 1`."
    )


def one_side(case: Case, seen: Observation) -> str | None:
    def above_alone(rank: int) -> list[np.ndarray]:
        above, mine, below = _halos(case, rank)
        return [above, mine, 0 * below]

    def below_alone(rank: int) -> list[np.ndarray]:
        above, mine, below = _halos(case, rank)
        return [0 * above, mine, below]

    for side, parts, kept in (
        ("below", above_alone, slice(0, 2)),
        ("above", below_alone, slice(1, 3)),
    ):
        found = (parts, lambda rank, parts=parts, kept=kept: parts(rank)[kept])
        if any(_all(case, seen, each) for each in found):
            return (
                f"{case.name}, no rank borrowed anything {side} its rows: a filter looks both "
                "ways, so a rank between two others needs rows of both."
            )
    return None


def beyond_not_zero(case: Case, seen: Observation) -> str | None:
    reach = case.facts["reach"]
    cut = [value[reach:] if rank == 0 else value for rank, value in enumerate(seen.values)]
    cut[-1] = cut[-1][:-reach]
    wants = list(case.facts["want"])
    wants[0] = wants[0][reach:]
    wants[-1] = wants[-1][:-reach]
    if not all(close(got, want, 0.0) for got, want in zip(cut, wants, strict=True)):
        return None
    if _values(case, seen) or len(seen.values[0]) != len(case.facts["want"][0]):
        return None
    return (
        f"{case.name}, beyond the picture's top and bottom the halo holds something else than "
        "zeros: the convolution of the whole picture sees zeros there."
    )


def no_zeros(case: Case, seen: Observation) -> str | None:
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


def one_row(case: Case, seen: Observation) -> str | None:
    reach = case.facts["reach"]
    padded = np.pad(case.facts["picture"], ((1, 1), (0, 0)))
    wants = [padded[a : b + 2] for a, b in case.facts["cuts"]]
    if reach == 1 or not all(close(g, w, 0.0) for g, w in zip(seen.values, wants, strict=True)):
        return None
    return f"{case.name}, one row was borrowed on each side: a reach of {reach} needs {reach} rows."


def whole_slices(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or not _values(case, seen) or sum(seen.bytes) <= sum(needed(case)):
        return None
    return (
        f"{case.name}, the values are right, but {sum(seen.bytes)} B were sent and the borders are "
        f"{sum(needed(case))} B: send only the rows that the neighbour sees."
    )


def in_a_chain(case: Case, seen: Observation) -> str | None:
    if not _values(case, seen) or max(seen.seconds) <= quick(case):
        return None
    return (
        f"{case.name}, the values are right, but the ranks went one after the other: "
        f"{short(max(seen.seconds) * 1e3)} ms where {short(quick(case) * 1e3)} ms are enough. "
        "Send to both neighbours with `isend` before you wait for either."
    )
