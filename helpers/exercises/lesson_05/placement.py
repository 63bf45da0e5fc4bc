"""Exercise 05.4, which server holds which tensor.

Largest first, each to the first server with the fewest bytes so far, of equal tensors the first.
Source: longest processing time first, Graham (1969).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.algorithms.servers.placement import place as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, number
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_SMALL: tuple[tuple[list[int], int], ...] = (
    ([40, 10, 70, 10, 90, 30, 20, 50], 3),
    ([40, 10, 70, 10, 90, 30, 20, 50], 2),
    ([40, 10, 70], 1),
    ([8, 8, 8, 8, 8, 8, 8], 5),
    ([100, 1, 1, 1, 1], 2),
    ([7], 3),
)


def cases(seed: int) -> list[Case]:
    """Seed 0: small models on 3, 2, 1 and 5 servers; else random ones."""
    random = rng(seed, "05.4")
    models = [(list(sizes), servers) for sizes, servers in _SMALL]
    if seed:
        models = [(_with_ties(random), 3)]
        for servers in (3, 2, 1, 5, 4, 8):
            sizes = [4 * int(s) for s in random.integers(1, 400, int(random.integers(9, 25)))]
            models.append((sizes, servers))
    made = []
    for sizes, servers in models:
        shown = str(sizes) if len(sizes) < 10 else f"{len(sizes)} tensors"
        name = f"With {shown} on {count(servers, 'server')}"
        made.append(Case(name, ((sizes, servers),), facts={"want": reference(sizes, servers)}))
    return made


def _with_ties(random: np.random.Generator) -> list[int]:
    """Sizes some of which are equal, so that it tells in which order those are taken, on 3."""
    while True:
        sizes = [4 * int(s) for s in random.integers(1, 7, 9)]
        if len({str(rule(sizes, 3)) for rule in (reference, *_TIES)}) == 4:
            return sizes


def loads(sizes: Sequence[int], places: Sequence[int], servers: int) -> list[int]:
    """Bytes on each server."""
    held = [0] * servers
    for size, place in zip(sizes, places, strict=True):
        held[place] += size
    return held


def _got(case: Case, seen: Observation) -> list[int] | None:
    """The answer, where it names a server for each tensor."""
    sizes, servers = case.args[0]
    answer = returned(seen.values[0])
    if not isinstance(answer, list | tuple):
        return None
    found = [number(place) for place in answer]
    if len(found) != len(sizes) or any(p is None or p not in range(servers) for p in found):
        return None
    return [int(p) for p in found if p is not None]


def claim(case: Case, seen: Observation) -> str | None:
    """The server of every tensor."""
    sizes, servers = case.args[0]
    got, want = _got(case, seen), case.facts["want"]
    if got is None:
        return (
            f"{case.name}, your function gave {describe(returned(seen.values[0]))}; a list of "
            f"{len(sizes)} servers, numbered from 0 to {servers - 1}, was asked for."
        )
    if got == want:
        return _used_up(case, seen)
    at = next(i for i, (g, w) in enumerate(zip(got, want, strict=True)) if g != w)
    return (
        f"{case.name}, the servers hold {loads(sizes, got, servers)} B; largest first gives "
        f"{loads(sizes, want, servers)} B. Tensor {at} goes to server {want[at]}, not {got[at]}."
    )


def _used_up(case: Case, seen: Observation) -> str | None:
    if changed(seen.values[0]) is None:
        return None
    return f"{case.name}, `sizes` is another list afterwards: sort or mark a list of your own."


def compared(case: Case, seen: Observation) -> Any:
    """The servers as plain numbers, or the groups in order; and whether `sizes` changed."""
    answer: Any = _got(case, seen)
    if answer is None:
        answer = [sorted(group) for group in returned(seen.values[0])]
    return [answer, changed(seen.values[0])]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the bytes on the fullest server, and how many would do."""
    sizes, servers = case.args[0]
    got = _got(case, seen)
    return {
        "most": max(loads(sizes, got, servers)) if got else 0,
        "least": max(loads(sizes, case.facts["want"], servers)),
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    sizes, servers = cases[0].args[0]
    held = loads(sizes, [int(p) for p in seen[0].values[0]], servers)
    turns = max(loads(sizes, [i % servers for i in range(len(sizes))], servers))
    return (
        f"Passed with 1, 2, 3 and 5 servers: {sum(sizes)} B lie {held} on {servers}; taking turns, "
        f"one of them would hold {turns}."
    )


def _by_size(sizes: Sequence[int], sign: int = -1) -> list[int]:
    return sorted(range(len(sizes)), key=lambda tensor: sign * sizes[tensor])


def _greedy(
    order: Callable[[list[int]], Sequence[int]] = _by_size,
    emptiest: Callable[[list[int]], int] = lambda held: held.index(min(held)),
    counted: Callable[[int], int] = lambda size: size,
) -> Callable[[list[int], int], list[int]]:
    """The reference with a part exchanged. counted: what a tensor of a size adds to its server."""

    def place(sizes: list[int], servers: int) -> list[int]:
        held, places = [0] * servers, [0] * len(sizes)
        for tensor in order(sizes):
            places[tensor] = emptiest(held)
            held[places[tensor]] += counted(sizes[tensor])
        return places

    return place


def _last(held: list[int]) -> int:
    return max(server for server, size in enumerate(held) if size == min(held))


def _last_by_size(sizes: list[int]) -> list[int]:
    return sorted(range(len(sizes)), key=lambda tensor: (sizes[tensor], tensor))[::-1]


_index_of_size = _greedy(lambda sizes: [sizes.index(s) for s in sorted(sizes, reverse=True)])
_last_server = _greedy(emptiest=_last)
_last_tensor = _greedy(_last_by_size)
_last_of_both = _greedy(_last_by_size, _last)
_unsorted = _greedy(lambda sizes: range(len(sizes)))
_smallest_first = _greedy(lambda sizes: _by_size(sizes, 1))
_fewest_tensors = _greedy(counted=lambda size: 1)
_TIES = (_last_server, _last_tensor, _last_of_both)


def _round_robin(sizes: list[int], servers: int) -> list[int]:
    return [tensor % servers for tensor in range(len(sizes))]


def _in_sorted_order(sizes: list[int], servers: int) -> list[int]:
    places = reference(sizes, servers)
    return [places[tensor] for tensor in _by_size(sizes)]


def _marks(sizes: list[int], servers: int) -> list[int]:
    places = reference(sizes, servers)
    sizes[:] = [-1] * len(sizes)
    return places


def _as_groups(sizes: list[int], servers: int) -> list[list[int]]:
    places = reference(sizes, servers)
    return [[i for i, place in enumerate(places) if place == s] for s in range(servers)]


EXERCISE = Exercise(
    number="05.4",
    title="Who holds what",
    stars=2,
    minutes=12,
    points=3,
    function="place",
    asks=(
        "take the tensors from the largest to the smallest, each to the server with the fewest "
        "bytes so far; give the server of each tensor, in the model's order."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    compared=compared,
    mistakes=(Mistake("uses up the list", _used_up),),
    numbers=numbers,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("marks what is placed", _marks, hint="another list afterwards"),
        WrongAnswer(
            "gives groups",
            _as_groups,
            "you gave the tensors of each server: the other way round was asked for, the server "
            "of each tensor.",
        ),
        WrongAnswer(
            "the first of equal tensors each time",
            _index_of_size,
            "equal tensors were taken for the same one: `sizes.index` finds the first of them "
            "each time. Sort the tensors' numbers, not their sizes.",
        ),
        WrongAnswer(
            "last of equal servers",
            _last_server,
            "where servers hold equally much you take the last of them: take the first, so that "
            "everybody's answer is the same. (The balance is as good.)",
        ),
        WrongAnswer(
            "last of equal tensors",
            _last_tensor,
            "tensors of one size are taken from the last to the first: take equal ones in the "
            "model's order, as `sorted(..., key=lambda i: -sizes[i])` does and a list turned "
            "round does not.",
        ),
        WrongAnswer(
            "last of equal servers and tensors",
            _last_of_both,
            "ties are broken from the end: of equal servers the first gets the tensor, and of "
            "equal tensors the first is placed first.",
        ),
        WrongAnswer(
            "in turn",
            _round_robin,
            "the servers take turns: {most} B on the fullest; {least} B do.",
        ),
        WrongAnswer(
            "in the model's order",
            _unsorted,
            "the tensors were taken in the model's order, and a large one came last: the fullest "
            "server holds {most} B instead of {least} B. Begin with the largest.",
        ),
        WrongAnswer(
            "smallest first",
            _smallest_first,
            "the smallest tensor went first, so the largest comes on top of a server that has "
            "much already ({most} B instead of {least} B). Sort the other way.",
        ),
        WrongAnswer(
            "counts tensors",
            _fewest_tensors,
            "each server got as many tensors as the others, not as many bytes: {most} B on the "
            "fullest instead of {least} B.",
        ),
        WrongAnswer(
            "in sorted order",
            _in_sorted_order,
            "the servers are right but stand in the order of the sorted sizes: entry i of the "
            "answer is the server of sizes[i].",
        ),
    ),
    ranked=False,
)
