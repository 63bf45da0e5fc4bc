"""Exercise 00.1, roll call: every rank tells rank 0 its number, squared.

`roll_call(comm) -> list[int] | None`: rank 0 returns [0, 1, 4, …], one for each rank, in rank
order; the others send theirs and return None. The claim: N − 1 messages, all of them to rank 0.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def _tensors(case: Case, seen: Observation) -> str | None:
    numbers = [number(v) for v in _got(seen)]
    if numbers != [r * r for r in range(case.ranks)] or type(seen.values[0]) is not list:
        return None
    if all(type(v) is int for v in _got(seen)):
        return None
    return (
        "The list is right, but it holds tensors or fractions: `.item()` makes a plain number of "
        "a tensor with one element, and a tensor made from an int holds an int."
    )


def _left_out(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1:
        return "On 1 rank, rank 0 is all there is: it returns [0]." if not _got(seen) else None
    if [number(v) for v in _got(seen)] != [r * r for r in range(1, case.ranks)]:
        return None
    return (
        f"{case.name}, rank 0 returned {describe(seen.values[0])}: its own square is missing. "
        "Put it into the list without sending it."
    )


def _not_squared(case: Case, seen: Observation) -> str | None:
    if case.ranks < 3 or [number(v) for v in _got(seen)] != list(range(case.ranks)):
        return None
    return f"{case.name}, rank 0 returned the ranks themselves: send each rank squared."


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


def keeps_tensors(comm: Any) -> Any:
    """Returns tensors."""
    import torch

    mine = torch.tensor(comm.rank**2)
    if comm.rank != 0:
        comm.send(mine, 0)
        return None
    return [mine] + [comm.recv(other) for other in range(1, comm.size)]


def forgets_itself(comm: Any) -> Any:
    """Rank 0 leaves itself out."""
    import torch

    if comm.rank != 0:
        comm.send(torch.tensor(comm.rank**2), 0)
        return None
    return [comm.recv(other).item() for other in range(1, comm.size)]


def sends_to_itself(comm: Any) -> Any:
    """Every rank sends to rank 0, rank 0 too."""
    import torch

    comm.send(torch.tensor(comm.rank**2), 0)
    if comm.rank == 0:
        return [comm.recv(other).item() for other in range(comm.size)]
    return None


def all_receive(comm: Any) -> Any:
    """Receives before it sends, on every rank: a deadlock."""
    import torch

    squares = [comm.recv(other).item() for other in range(comm.size) if other != comm.rank]
    comm.send(torch.tensor(comm.rank**2), 0)
    return [0, *squares] if comm.rank == 0 else None


def only_one_received(comm: Any) -> Any:
    """Rank 0 receives from rank 1 alone: the others wait for ever."""
    import torch

    if comm.rank != 0:
        comm.send(torch.tensor(comm.rank**2), 0)
        return None
    return [0, comm.recv(1).item()] if comm.size > 1 else [0]


def no_messages(comm: Any) -> Any:
    """Appends to a list, as if ranks shared variables."""
    squares = []
    squares.append(comm.rank**2)
    return squares if comm.rank == 0 else None


def ranks_themselves(comm: Any) -> Any:
    """Forgets to square."""
    import torch

    if comm.rank != 0:
        comm.send(torch.tensor(comm.rank), 0)
        return None
    return [0] + [comm.recv(other).item() for other in range(1, comm.size)]


def hand_to_hand(comm: Any) -> Any:
    """Every rank puts its square before what its right neighbour sends, and passes it on."""
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
        Mistake("tensors instead of numbers", _tensors),
        Mistake("hand to hand", _elsewhere),
        Mistake("rank 0 is left out", _left_out),
        Mistake("not squared", _not_squared),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("returns tensors", keeps_tensors, hint="it holds tensors"),
        WrongAnswer("leaves rank 0 out", forgets_itself, hint="its own square is missing"),
        WrongAnswer(
            "sends to itself", sends_to_itself, hint="Rank 0 waits for a message from rank 0"
        ),
        WrongAnswer("all receive first", all_receive, hint="every rank waits to receive"),
        WrongAnswer("receives once", only_one_received, hint="never comes to receive"),
        WrongAnswer("sends nothing", no_messages, hint="no rank sent anything"),
        WrongAnswer("hand to hand", hand_to_hand, hint="is for rank 0"),
        WrongAnswer("does not square", ranks_themselves, hint="the ranks themselves"),
    ),
    figure=0,
)
