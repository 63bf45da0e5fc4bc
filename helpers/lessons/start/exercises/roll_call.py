"""Exercise 00.1, roll call: every rank tells rank 0 its number, squared.

The claim: N − 1 messages, all of them to rank 0, each a square and waited for; and a second call
does the same.
"""

from collections.abc import Iterator
from typing import Any

from helpers.checks.common import self_hint
from helpers.checks.compare import count, describe, is_array, listing, number
from helpers.checks.drives.ranks import in_a_row
from helpers.checks.drives.requests import not_waited
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size
from helpers.checks.table import wrong_answers


def cases(seed: int) -> list[Case]:
    """Seed 0: 4, 1, 2, 3 and 5 ranks; else other sizes. On 17 squares need more than eight bits.
    In one case each rank calls twice."""
    sizes = [(4, 1), (1, 1), (2, 1), (3, 2), (5, 1), (17, 1)]
    if seed:
        sizes = [(1, 1), (6 + seed % 3, 2), (17 + seed % 4, 1)]
    return [Case(f"On {count(n, 'rank')}", ((calls,),) * n, n) for n, calls in sizes]


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Rank 0 has every square as a number, in order; everybody else sent one message."""
    want, calls = [r * r for r in range(case.ranks)], case.args[0][0]
    for call in range(calls):
        got, *others = (value["gave"][call] for value in seen.values)
        if type(got) is not list or got != want or any(type(v) is not int for v in got):
            yield from _again(case, seen)
            what = "a tensor, " * is_array(got) + describe(got, 100)
            yield f"rank 0 returned {what}; it should be {want}, plain whole numbers."
        for rank, value in enumerate(others, 1):
            if value is not None:
                yield f"rank {rank} returned {describe(value)}; it should return None."
    if seen.messages != [0] + [calls] * (case.ranks - 1):
        yield (
            f"the ranks sent {listing(seen.messages)} messages in {count(calls, 'call')}: every "
            "rank but rank 0 sends one in each, and rank 0 none."
        )
    yield from _elsewhere(case, seen)
    yield from _no_square(case, seen)
    yield not_waited(case, seen)


def _again(case: Case, seen: Observation) -> Iterator[str]:
    """Another list when it is called again."""
    gave = seen.values[0]["gave"]
    if len(gave) > 1 and gave[0] != gave[1]:
        yield (
            f"rank 0 returned {describe(gave[0])} and, called again, {describe(gave[1])}: "
            "something is kept from the first call. Make the list inside the function, anew each "
            "time."
        )


def _no_square(case: Case, seen: Observation) -> Iterator[str]:
    """A message that holds something else than its sender's square."""
    for rank, told in enumerate(_told(seen)):
        if any(each != rank * rank for each in told):
            yield (
                f"the list is right, but rank {rank} sent {describe(told[0])}: it sends its rank "
                f"squared, {rank * rank}, and rank 0 only collects."
            )


def _told(seen: Observation) -> list[list[Any]]:
    """What each rank sent, as numbers where they are single ones."""
    values = [value["told"] for value in seen.values]
    return [[float(a.item()) if a.size == 1 else describe(a) for a in told] for told in values]


def _elsewhere(case: Case, seen: Observation) -> Iterator[str]:
    """A message to another rank than 0."""
    for rank, to in enumerate(seen.sent):
        for other in to:
            if rank == 0 and other != 0:
                yield f"rank 0 sends to rank {other}, which needs nothing: it only receives."
            if other != 0:
                yield (
                    f"rank {rank} sends to rank {other}: its square is for rank 0, which can "
                    "receive from every rank, not only from its neighbour."
                )


def compared(case: Case, seen: Observation) -> Any:
    """What rank 0 returned, whether as plain numbers where it is right, and what was sent."""
    gave = [got if type(got) in (list, tuple) else [] for got in seen.values[0]["gave"]]
    found = [[number(v) for v in got] for got in gave]
    right = all(each == [r * r for r in range(case.ranks)] for each in found)
    return [found, right and all(type(v) is int for got in gave for v in got), _told(seen)]


def _nobody_sends(case: Case, seen: Observation) -> Iterator[str]:
    if sum("receive" in words for words in seen.waiting.values()) == case.ranks:
        yield (
            f"every rank waits to receive and nobody sends: rank 0 {seen.waiting[0]}. Ask "
            "`comm.rank`: rank 0 receives, the others send."
        )


def _nobody_receives(case: Case, seen: Observation) -> Iterator[str]:
    for rank, words in seen.waiting.items():
        if "send" in words and "receive" not in str(seen.waiting):
            yield (
                f"rank {rank} {words}, which never comes to receive it. Rank 0 calls `comm.recv` "
                "once for every other rank."
            )


def _own_only(case: Case, seen: Observation) -> Iterator[str]:
    if case.ranks > 1 and not any(seen.messages):
        yield "no rank sent anything: ranks share no variables, rank 0 has to be told."


def reference(comm: Any) -> list[int] | None:
    """The course's own."""
    import torch

    if comm.rank != 0:
        comm.send(torch.tensor(comm.rank**2), 0)
        return None
    return [0] + [comm.recv(other).item() for other in range(1, comm.size)]


WRONG = """
tensors instead of numbers
    | [0] + => [torch.tensor(0)] +
    | .item() =>
    The list is right, but it holds tensors or fractions: `.item()` makes a plain number of a tensor
    with one element, and a tensor made from an int holds an int.
none if alone
    | return [0] => return None if comm.size == 1 else [0]
    rank 0 is all there is: it returns [0].
rank 0 is left out
    | [0] + =>
    rank 0 returned {got}: its own square is missing. Put it into the list without sending it.
not squared
    | comm.rank**2 => comm.rank
    rank 0 returned the ranks themselves: send each rank squared.
rank 0 squares
    | comm.rank**2 => comm.rank
    | .item() => .item() ** 2
    ! _no_square
goes on with its list
    | return [0] + => squares = vars(comm).setdefault("squares", [0]); squares +=
    | comm.size)] => comm.size)]; return squares
    ! _again
in eight bits
    | comm.rank**2 => comm.rank**2 % 256
    the square of rank 16, 256, came as 0: a `torch.uint8` holds 0 to 255.
sends to itself
    | import torch => import torch; comm.rank or comm.send(torch.tensor(0), 0)
    ? Rank 0 waits for a message from rank 0
all receive first
    | import torch => import torch; [comm.recv(r) for r in range(comm.size) if r != comm.rank]
    ? every rank waits to receive
receives once
    | range(1, comm.size) => range(1, min(comm.size, 2))
    ? never comes to receive
sends nothing
    | comm.send(torch.tensor(comm.rank**2), 0) => pass
    | range(1, comm.size) => ()
    ? no rank sent anything
passes it on
    | import torch => import torch; last = comm.rank == comm.size - 1;
        squares = [comm.rank**2] + ([] if last else comm.recv(comm.rank + 1).tolist())
    | torch.tensor(comm.rank**2), 0 => torch.tensor(squares), comm.rank - 1
    | [0] + [comm.recv(other).item() for other in range(1, comm.size)] => squares
    ? is for rank 0
never waits
    | comm.send( => comm.isend(
    ? returned without waiting for
"""

EXERCISE = Exercise(
    number="00.1",
    title="Roll call",
    size=Size(stars=1, minutes=6, points=1),
    function="roll_call",
    asks=(
        "every rank but rank 0 sends its rank squared to rank 0; rank 0 returns the list "
        "[0, 1, 4, …] as plain whole numbers, in rank order, and the others return None."
    ),
    cases=cases,
    drive=in_a_row,
    claim=claim,
    mistakes=(
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("every rank receives first", _nobody_sends, unfinished=True),
        Mistake("rank 0 does not receive from everyone", _nobody_receives, unfinished=True),
        Mistake("nothing is sent", _own_only),
        Mistake("hand to hand", _elsewhere),
        Mistake("messages not waited for", not_waited),
    ),
    numbers=lambda case, seen: {"got": describe(seen.values[0]["gave"][0])},
    compared=compared,
    praise="Passed on {worlds}; every rank but rank 0 sent one message.",
    reference=reference,
    wrong=wrong_answers("00.1", WRONG, reference, _no_square, _again),
    figure=0,
)
