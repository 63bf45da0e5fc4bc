"""Exercise 00.1, roll call: every rank tells rank 0 its number, squared.

`roll_call(comm) -> list[int] | None`: rank 0 returns [0, 1, 4, …], one for each rank, in rank
order; the others send theirs and return None. The claim: N − 1 messages, all of them to rank 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.exercises.common import self_hint
from helpers.exercises.compare import count, describe, listing, number, worlds
from helpers.exercises.drives import on_ranks
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 4, 1, 2, 3 and 5 ranks; other seeds: other sizes too."""
    sizes = (4, 1, 2, 3, 5) if seed == 0 else (1, 6 + seed % 3, 9 + seed % 4)
    return [Case(f"On {count(n, 'rank')}", ((),) * n, n) for n in sizes]


def _got(seen: Observation) -> list[Any]:
    value = seen.values[0]
    return list(value) if type(value) in (list, tuple) else []


def claim(case: Case, seen: Observation) -> str | None:
    """Rank 0 has every square as a number, in order; everybody else sent one message."""
    want = [r * r for r in range(case.ranks)]
    if type(seen.values[0]) is not list or seen.values[0] != want:
        return f"{case.name}, rank 0 returned {describe(seen.values[0])}; it should be {want}."
    if any(type(v) is not int for v in seen.values[0]):
        return f"{case.name}, rank 0 returned {describe(seen.values[0])}, but not whole numbers."
    for rank, value in enumerate(seen.values[1:], 1):
        if value is not None:
            return f"{case.name}, rank {rank} returned {describe(value)}; it should return None."
    if seen.messages != [0] + [1] * (case.ranks - 1):
        return (
            f"{case.name}, the ranks sent {listing(seen.messages)} messages: every rank but "
            "rank 0 sends one, and rank 0 none."
        )
    return _elsewhere(case, seen)


def _elsewhere(case: Case, seen: Observation) -> str | None:
    """A message to another rank than 0."""
    for rank, to in enumerate(seen.sent):
        others = [other for other in to if other != 0]
        if others:
            return (
                f"{case.name}, rank {rank} sends to rank {others[0]}: its square is for rank 0, "
                "which can receive from every rank, not only from its neighbour."
            )
    return None


def compared(case: Case, seen: Observation) -> Any:
    """What rank 0 returned, as numbers; where they are right, whether they are plain ones."""
    found = [number(v) for v in _got(seen)]
    right = found == [r * r for r in range(case.ranks)]
    return [found, right and all(type(v) is int for v in _got(seen))]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What rank 0 returned, in words."""
    return {"got": describe(seen.values[0])}


def _nobody_sends(case: Case, seen: Observation) -> str | None:
    if not seen.waiting or not all("receive" in words for words in seen.waiting.values()):
        return None
    if set(seen.waiting) != set(range(case.ranks)):
        return None
    return (
        f"{case.name}, every rank waits to receive and nobody sends: rank 0 "
        f"{seen.waiting[0]}. Ask `comm.rank`: rank 0 receives, the others send."
    )


def _nobody_receives(case: Case, seen: Observation) -> str | None:
    sends = [r for r, words in seen.waiting.items() if "send" in words]
    if not sends or any("receive" in words for words in seen.waiting.values()):
        return None
    return (
        f"{case.name}, rank {sends[0]} {seen.waiting[sends[0]]}, which never comes to "
        "receive it. Rank 0 calls `comm.recv` once for every other rank."
    )


def _own_only(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or any(seen.messages) or seen.trouble:
        return None
    return (
        f"{case.name}, no rank sent anything: a rank knows only its own number. Ranks share no "
        "variables; what rank 0 is to know has to be sent."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return f"Passed on {worlds(cases)}; every rank but rank 0 sent one message."


def reference(comm: Any) -> list[int] | None:
    """The course's own."""
    import torch

    if comm.rank != 0:
        comm.send(torch.tensor(comm.rank**2), 0)
        return None
    return [0] + [comm.recv(other).item() for other in range(1, comm.size)]


def _roll_call(
    mine: Callable[[int], int] = lambda rank: rank**2,
    number_of: Callable[[Any], Any] = lambda tensor: tensor.item(),
    others: Callable[[int], Sequence[int]] = lambda size: range(1, size),
) -> Callable[..., Any]:
    """The reference with something else in it. others: from whom rank 0 receives."""

    def roll_call(comm: Any) -> Any:
        import torch

        tensor = torch.tensor(mine(comm.rank))
        if comm.rank != 0:
            comm.send(tensor, 0)
            return None
        return [number_of(tensor)] + [number_of(comm.recv(other)) for other in others(comm.size)]

    return roll_call


_keeps_tensors = _roll_call(number_of=lambda tensor: tensor)
_ranks_themselves = _roll_call(mine=lambda rank: rank)
_receives_once = _roll_call(others=lambda size: range(1, min(size, 2)))


def _forgets_itself(comm: Any) -> Any:
    squares = reference(comm)
    return squares and squares[1:]


def _nobody_else(comm: Any) -> Any:
    return reference(comm) if comm.size > 1 else None


def _to_itself(comm: Any) -> Any:
    import torch

    if comm.rank == 0:
        comm.send(torch.tensor(0), 0)
    return reference(comm)


def _all_receive(comm: Any) -> Any:
    squares = [comm.recv(other).item() for other in range(comm.size) if other != comm.rank]
    return [0, *squares] if comm.rank == 0 else reference(comm)


def _no_messages(comm: Any) -> Any:
    return [comm.rank**2] if comm.rank == 0 else None


def _hand_to_hand(comm: Any) -> Any:
    import torch

    squares = torch.tensor([comm.rank**2])
    if comm.rank < comm.size - 1:
        squares = torch.cat([squares, comm.recv(comm.rank + 1)])
    if comm.rank > 0:
        comm.send(squares, comm.rank - 1)
        return None
    return squares.tolist()


EXERCISE = Exercise(
    number="00.1",
    title="Roll call",
    stars=1,
    minutes=6,
    points=1,
    function="roll_call",
    asks=(
        "every rank but rank 0 sends its rank squared to rank 0; rank 0 returns the list "
        "[0, 1, 4, …] as plain numbers, in rank order, and the others return None."
    ),
    cases=cases,
    drive=on_ranks,
    claim=claim,
    mistakes=(
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("every rank receives first", _nobody_sends, unfinished=True),
        Mistake("rank 0 does not receive from everyone", _nobody_receives, unfinished=True),
        Mistake("nothing is sent", _own_only),
        Mistake("hand to hand", _elsewhere),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "tensors instead of numbers",
            _keeps_tensors,
            "The list is right, but it holds tensors or fractions: `.item()` makes a plain number "
            "of a tensor with one element, and a tensor made from an int holds an int.",
        ),
        WrongAnswer(
            "nothing where it is alone",
            _nobody_else,
            "rank 0 is all there is: it returns [0].",
        ),
        WrongAnswer(
            "rank 0 is left out",
            _forgets_itself,
            "rank 0 returned {got}: its own square is missing. Put it into the list without "
            "sending it.",
        ),
        WrongAnswer(
            "not squared",
            _ranks_themselves,
            "rank 0 returned the ranks themselves: send each rank squared.",
        ),
        WrongAnswer("sends to itself", _to_itself, hint="Rank 0 waits for a message from rank 0"),
        WrongAnswer("all receive first", _all_receive, hint="every rank waits to receive"),
        WrongAnswer("receives once", _receives_once, hint="never comes to receive"),
        WrongAnswer("sends nothing", _no_messages, hint="no rank sent anything"),
        WrongAnswer("passes it on", _hand_to_hand, hint="is for rank 0"),
    ),
    figure=0,
)
