"""Exercise NN.1, a mean over the ranks: a function that runs on every rank.

`mean_on_rank_0(comm, mine) -> tensor | None`: rank 0 returns the mean of the ranks' tensors, the
others None. The claim: N − 1 messages, all of them to rank 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from helpers.checks.common import WORLDS, self_hint
from helpers.checks.compare import close, count, describe
from helpers.checks.drives.ranks import on_ranks
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 ranks; other seeds: one size more, and other lengths."""
    random, made = rng(seed, "NN.1"), []
    for ranks in [*WORLDS, int(random.integers(6, 9))] if seed else WORLDS:
        length = int(random.integers(1, 9)) if seed else 4
        tensors = random.standard_normal((ranks, length))
        args = tuple((each,) for each in tensors)
        facts = {"mean": tensors.mean(axis=0)}
        made.append(Case(f"On {count(ranks, 'rank')}", args, ranks, facts=facts))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """Rank 0 has the mean; every other rank sent one message to rank 0, and returned None."""
    want, got = case.facts["mean"], seen.values[0]
    if not close(got, want, 1e-12):
        yield f"rank 0 returned {describe(got)}; it should be {describe(want)}."
    for rank, value in enumerate(seen.values[1:], 1):
        if value is not None:
            yield f"rank {rank} returned {describe(value)}; it should return None."
    if seen.sent != [[]] + [[0]] * (case.ranks - 1):
        sent = count(sum(seen.messages), "message")
        yield f"{sent} were sent: every rank but rank 0 sends one, to rank 0."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    return {"n": case.ranks, "got": describe(seen.values[0]), "want": describe(case.facts["mean"])}


def reference(comm: Any, mine: Any) -> Any:
    """The course's own."""
    if comm.rank != 0:
        comm.send(mine, 0)
        return None
    total = mine + sum(comm.recv(other) for other in range(1, comm.size))
    return total / comm.size


def _sends_twice(comm: Any, mine: Any) -> Any:
    if comm.rank != 0:
        comm.send(mine, 0)
    for other in range(1, comm.size if comm.rank == 0 else 0):
        comm.recv(other)
    return reference(comm, mine)


WRONG = """
does not divide
    | return total / comm.size => return total
    rank 0 returned {got}, the sum: divide it by the number of ranks, {n}.
leaves rank 0 out
    | mine + sum( => sum(
    rank 0 returned {got}; it should be {want}. Rank 0 has a tensor too: its own is missing in the
    sum.
sends every tensor twice
    = _sends_twice
    the mean is right, but every rank sent its tensor twice: once is enough.
sends to itself
    | if comm.rank != 0: comm.send(mine, 0) return None => comm.send(mine, 0)
    | mine + sum(comm.recv(other) for other in range(1, => sum(comm.recv(other) for other in range(
    ? Rank 0 waits for a message from rank 0
"""

EXERCISE = Exercise(
    number="NN.1",
    title="A mean on rank 0",
    size=Size(stars=1, minutes=6, points=1),
    function="mean_on_rank_0",
    asks="every rank but rank 0 sends its tensor to rank 0, which returns the mean of all.",
    cases=cases,
    drive=on_ranks,
    claim=claim,
    mistakes=(Mistake("a rank sends to itself", self_hint, unfinished=True),),
    numbers=numbers,
    praise="Passed on {worlds}: one message from every rank but rank 0.",
    reference=reference,
    wrong=wrong_answers("NN.1", WRONG, reference, _sends_twice),
    figure=0,
)
