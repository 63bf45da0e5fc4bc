"""Exercise 12.4, the halo: borrow the neighbours' border rows.

`with_halo(comm, rows, reach) -> tensor`: rows (own rows, columns); the result has `reach` rows
more above and below: the last ones of the rank before, the first ones of the rank after, zeros
beyond the picture. The claim: the values, in the rows' own type, exactly 2 · reach rows sent by an
inner rank in two messages, all ranks at once, so that the time does not grow with their number,
this rank's rows left as they are, and a result of its own.
The file is long because of the twenty-two answers that borrow too little, too much or elsewhere.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from helpers.checks.common import WORLDS, self_hint
from helpers.checks.compare import count, describe, is_array, rounded, short, worlds
from helpers.checks.drives.requests import changed, not_waited
from helpers.checks.spec import Case, Exercise, Look, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.splitting.exercises.owned import overwritten, owned

_LATENCY, _BANDWIDTH = 1e-3, 1e6
_WAITS = re.compile(r"(send|receive)\b.* rank (\d+)")


def cases(seed: int) -> list[Case]:
    """Seed 0: a reach of 2 on 3, 1 and 2 ranks, of 3 and of 1; other seeds other sizes.

    Then many ranks; whole numbers, and a top and a bottom that are infinite, where zeros of another
    type or made of the rows show.
    """
    random, made = rng(seed, "12.4"), []
    asked = [(3, 2, 11), (1, 2, 5), (2, 2, 7), (5, 3, 22), (5, 1, 12)]
    if seed:
        asked = []
        for ranks in WORLDS:
            reach = int(random.integers(2, 4))
            asked.append((ranks, reach, ranks * (reach + 1) + int(random.integers(0, ranks + 2))))
    # A chain from rank to rank takes its time here, and most ranks lend all of their rows.
    asked += [(9, 2, 20), (3, 2, 9), (2, 1, 6)]
    for nth, (ranks, reach, height) in enumerate(asked):
        columns = int(random.integers(3, 7))
        picture, what = random.standard_normal((height, columns)), "rows"
        if nth == len(asked) - 2:
            picture, what = np.round(100 * picture).astype(np.int64), "rows of whole numbers"
        if nth == len(asked) - 1:
            picture[0], picture[-1], what = np.inf, -np.inf, "rows, infinite at top and bottom,"
        cuts = [(r * height // ranks, (r + 1) * height // ranks) for r in range(ranks)]
        args = tuple((picture[a:b], reach) for a, b in cuts)
        padded = np.pad(picture, ((reach, reach), (0, 0)))
        want = [padded[a : b + 2 * reach] for a, b in cuts]
        facts = {"want": want, "reach": reach, "border": reach * picture[0].nbytes}
        name = f"On {count(ranks, 'rank')} with {height} {what} and a reach of {reach}"
        clock = {"latency": _LATENCY, "bandwidth": _BANDWIDTH}
        made.append(Case(name, args, ranks, clock, facts))
    return made


def _needed(case: Case) -> list[int]:
    """Bytes of the borders that each rank lends."""
    return [((r > 0) + (r < case.ranks - 1)) * case.facts["border"] for r in range(case.ranks)]


def _quick(case: Case) -> float:
    """Seconds that suffice to send and receive on both sides in turn, however many ranks."""
    return 4.4 * (_LATENCY + float(case.facts["border"]) / _BANDWIDTH)


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The values; only the borders; all ranks at once."""
    yield overwritten(case, seen)
    yield not_waited(case, seen)
    yield _overwrites(case, seen)
    for rank, want in enumerate(case.facts["want"]):
        got = seen.values[rank]
        if not is_array(got, want.shape):
            shape = f"it should be a tensor of shape {want.shape}"
            yield f"rank {rank} returned {describe(got)}; {shape}."
        if got.dtype != want.dtype:
            yield (
                f"rank {rank} returned {got.dtype} where its rows are {want.dtype}: "
                "`rows.new_zeros(…)` makes zeros of the rows' type."
            )
        if not _same(got, want):
            why = rounded([got], [want])
            yield f"rank {rank}'s rows and halo are not those of the picture{why}."
    if seen.bytes != _needed(case):
        yield f"{sum(seen.bytes)} B were sent; the borders are {sum(_needed(case))} B."
    yield _in_a_chain(case, seen)
    for rank, sent in enumerate(seen.messages):
        others = (rank > 0) + (rank < case.ranks - 1)
        if sent > others:
            yield (
                f"rank {rank} sent {count(sent, 'message')} and has {count(others, 'neighbour')}: "
                "send a border in one message, for each costs its latency."
            )


def _same(got: Any, want: Any) -> bool:
    """Whether it has the wanted values, whatever its type; infinite ones too."""
    return is_array(got, want.shape) and np.array_equal(got, want)


def _overwrites(case: Case, seen: Observation) -> str | None:
    for rank, value in enumerate(seen.values):
        if changed(value) == 0:
            return (
                f"rank {rank}'s `rows` are not what they were: you wrote into them. Backward needs "
                "them as they are, so put the wider picture into a new tensor."
            )
    return None


def _beyond(case: Case, seen: Observation) -> str | None:
    """A neighbour that does not exist."""
    if seen.trouble != "failed" or "but the ranks are 0 to" not in seen.text:
        return None
    below = f"rank {case.ranks}," in seen.text
    who, where = (case.ranks - 1, "below") if below else (0, "above")
    return (
        f"rank {who} asks for a neighbour {where} it, and there is none. A picture ends there, and "
        "the halo is zeros: send and receive only where there is a neighbour."
    )


def _waits(seen: Observation) -> list[tuple[int, str, int]]:
    """Who waits for whom: (rank, "send" or "receive", the other)."""
    return [
        (rank, match[1], int(match[2]))
        for rank, words in sorted(seen.waiting.items())
        if "returned" not in words and (match := _WAITS.search(words))
    ]


def _one_alone(case: Case, seen: Observation) -> str | None:
    """A rank that waits for one that has returned: a send or a receive is missing there."""
    waits = _waits(seen)
    there = {rank for rank, _, _ in waits}
    for rank, doing, other in waits:
        if other in there:
            continue
        way = "last" if (other < rank) == (doing == "receive") else "first"
        if doing == "receive":
            return (
                f"rank {rank} waits for the {way} rows of rank {other}, which has returned and "
                "never sent them: a rank sends its first rows up and its last rows down, wherever "
                "it has a neighbour there."
            )
        return (
            f"rank {rank} sends its {way} rows to rank {other}, which has returned without "
            "receiving them: a rank has a halo on every side where it has a neighbour."
        )
    return None


def _all_wait(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "deadlock" or not seen.waiting:
        return None
    does, instead = "sends", "your sends with `isend`, receive, and wait for the sends afterwards"
    if {doing for _, doing, _ in _waits(seen)} == {"receive"}:
        does, instead = "receives", "both sends with `isend` before you receive"
    return f"every rank {does} first and waits for a neighbour that does the same. Start {instead}."


def _beyond_not_zero(case: Case, seen: Observation) -> str | None:
    reach, last = case.facts["reach"], case.ranks - 1
    pairs = list(zip(seen.values, case.facts["want"], strict=True))
    for rank, (got, want) in enumerate(pairs):
        inside = slice(reach if rank == 0 else 0, -reach if rank == last else None)
        if not is_array(got, want.shape) or not _same(got[inside], want[inside]):
            return None
    if all(_same(got, want) for got, want in pairs):
        return None
    return (
        "beyond the picture's top and bottom the halo holds something else than zeros: the "
        "convolution of the whole picture sees zeros there."
    )


def _in_a_chain(case: Case, seen: Observation) -> str | None:
    pairs = zip(seen.values, case.facts["want"], strict=True)
    if max(seen.seconds) <= _quick(case) or not all(_same(*pair) for pair in pairs):
        return None
    long = f"{short(max(seen.seconds) * 1e3)} ms where {short(_quick(case) * 1e3)} ms are enough"
    if any("barrier" in e.label for e in seen.events):
        return f"the values are right, but it took {long}: the ranks wait at a barrier for nothing."
    return (
        f"the values are right, but the ranks went one after the other: {long}. "
        "Send to both neighbours with `isend` before you wait for either."
    )


def _or_alone(words: str) -> Look:
    """A hint about what was borrowed; on one rank nothing is, and zeros are too few."""

    def look(case: Case, seen: Observation) -> str:
        found = numbers(case, seen)
        if case.ranks > 1:
            return words.format(**found)
        got, want = seen.values[0].shape[0], case.facts["want"][0].shape[0]
        return (
            f"rank 0 returned {count(got, 'row')} where there should be {want}: it has the "
            "picture's top and its bottom, with {reach} zero rows beyond each.".format(**found)
        )

    return look


BELOW, ABOVE = (
    _or_alone(
        f"no rank borrowed anything {where} its rows: a filter looks both ways, so a rank between "
        "two others needs rows of both."
    )
    for where in ("below", "above")
)
SHORT = _or_alone(
    "the first and the last rank's results are {reach} rows short: beyond the picture the halo is "
    "zeros, or the convolution would lose rows there."
)
ONE_ROW = _or_alone("one row was borrowed; a reach of {reach} has {reach}.")


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the reach, and what was sent."""
    return {"reach": case.facts["reach"], "sent": sum(seen.bytes), "borders": sum(_needed(case))}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    usual = [case for case in cases if case.ranks in WORLDS]  # nine are there for chains alone
    return (
        f"Passed on {worlds(usual)}: an inner rank sends 2 · reach rows, whatever the picture's "
        "height, and all ranks at once."
    )


def reference(comm: Any, rows: Any, reach: int) -> Any:
    """The course's own, which takes pictures with channels."""
    from helpers.lessons.splitting.algorithms.halo_split import add_halo

    return add_halo(comm, rows[None, None], reach)[0, 0]


def halo(comm: Any, rows: Any, reach: int) -> Any:
    """As the reference, in one piece."""
    up, down = comm.rank - 1, comm.rank + 1
    lent = [(down, rows[-reach:]), (up, rows[:reach])]
    sending = [comm.isend(part, rank) for rank, part in lent if 0 <= rank < comm.size]
    nothing = rows.new_zeros(reach, rows.shape[1])
    above = comm.recv(up) if up >= 0 else nothing
    below = comm.recv(down) if down < comm.size else nothing
    for request in sending:
        request.wait()
    return torch.cat([above, rows, below])


WRONG = """
to itself
    | (up, rows => (comm.rank, rows), (up, rows
    ? Rank 0 waits for a message from rank 0
no guard
    | if 0 <= rank < comm.size =>
    | if up >= 0 else nothing =>
    | if down < comm.size else nothing =>
    ? asks for a neighbour above it
blocking sends
    | comm.isend( => comm.send(
    ? every rank sends first and waits
receives first
    | sending = [ => sending = (
    | comm.size] => comm.size)
    ? every rank receives first
never sends down
    | (down, rows[-reach:]), =>
    ? never sent them
misses the last
    | if down < comm.size => if down + 1 < comm.size
    ? without receiving them
never waits
    | request.wait() => pass
    ? returned without waiting for
one tensor for all calls
    | def halo(comm: Any, rows: Any, reach: int) -> Any:
        => def halo(comm: Any, rows: Any, reach: int, kept={}) -> Any:
    | return torch.cat([above, rows, below])
        => wider = torch.cat([above, rows, below])
        ; return kept.setdefault(wider.shape, wider).copy_(wider)
    ? the next call wrote into
in place
    | return torch.cat([above, rows, below])
        => return (torch.cat([above, rows, below]), rows.zero_())[0]
    ? you wrote into them
repeats the border
    | up >= 0 else nothing => up >= 0 else rows[:1].expand(reach, -1)
    | down < comm.size else nothing => down < comm.size else rows[-1:].expand(reach, -1)
    ? something else than zeros
a chain
    | sending = [ => sending = (
    | comm.size] => comm.size)
    | comm.recv(down) => next(sending).wait() or comm.recv(down)
    ? one after the other
a ring
    | comm.rank - 1, comm.rank + 1 => (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    | if 0 <= rank < comm.size => if comm.size > 1
    | up >= 0 else nothing => comm.size > 1 else rows[-reach:]
    | down < comm.size else nothing => comm.size > 1 else rows[:reach]
    the first rank borrowed from the last: that is a ring. A picture ends at its top and bottom,
    where the halo is zeros and nobody is asked.
the border of the other side
    | (down, rows[-reach:]), (up, rows[:reach]) => (down, rows[:reach]), (up, rows[-reach:])
    each halo is the border of the other side: above a rank belong the last rows of the rank before,
    below it the first rows of the rank after.
the halos on the wrong sides
    | [above, rows, below] => [below, rows, above]
    the halos lie on the wrong sides: what comes from the rank before belongs above, what comes from
    the rank after below. `torch.cat([above, rows, below])`.
the neighbours swapped
    | (down, rows[-reach:]), (up, rows[:reach]) => (down, rows[:reach]), (up, rows[-reach:])
    | [above, rows, below] => [below, rows, above]
    you take the rank after for the one above. Rank 0 has the picture's top: above a rank lies the
    one before it, `comm.rank - 1`.
nothing from below
    | [above, rows, below] => [above, rows, below * 0]
    ! BELOW
nothing from above
    | [above, rows, below] => [above * 0, rows, below]
    ! ABOVE
nothing from below, no zeros
    | [above, rows, below] => [above, rows]
    ! BELOW
nothing from above, no zeros
    | [above, rows, below] => [rows, below]
    ! ABOVE
no zeros beyond the picture
    | rows.new_zeros(reach => rows.new_zeros(0
    ! SHORT
one row
    | [above, rows, below] => [above[-1:], rows, below[:1]]
    ! ONE_ROW
more than the borders
    | (down, rows[-reach:]), (up, rows[:reach]) => (down, rows), (up, rows)
    | [above, rows, below] => [above[-reach:], rows, below[:reach]]
    the values are right, but {sent} B were sent and the borders are {borders} B: send only the rows
    that the neighbour sees.
"""

EXERCISE = Exercise(
    number="12.4",
    title="The halo",
    size=Size(stars=2, minutes=15, points=3),
    function="with_halo",
    asks=(
        "this rank's rows, with the last `reach` rows of the rank before it above and the first "
        "`reach` rows of the rank after it below; zeros beyond the picture."
    ),
    cases=cases,
    drive=owned,
    claim=claim,
    mistakes=(
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("a neighbour that does not exist", _beyond, unfinished=True),
        Mistake("a send or a receive is missing", _one_alone, unfinished=True),
        Mistake("everybody waits for a neighbour", _all_wait, unfinished=True),
        Mistake("a result that the next call writes into", overwritten),
        Mistake("messages not waited for", not_waited),
        Mistake("writes into what it is given", _overwrites),
        Mistake("something else than zeros", _beyond_not_zero),
        Mistake("one rank after the other", _in_a_chain),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=wrong_answers(
        "12.4", WRONG, halo, BELOW=BELOW, ABOVE=ABOVE, SHORT=SHORT, ONE_ROW=ONE_ROW
    ),
    figure=0,
)
