"""Exercise 05.4, which server holds which tensor.

`place(sizes, servers) -> list[int]`: sizes are the tensors' bytes in the model's order; the answer
is the server of each. The largest tensor first, each to the server that holds the fewest bytes so
far (the first such server, and the first of equal tensors). Source: longest processing time
first, Graham (1969).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, number
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.lesson_05 import placement_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Look, Mistake, Observation, WrongAnswer

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
        known = {name: rule(sizes, servers) for name, rule in wrong.KNOWN.items()}
        facts = {"want": wrong.reference(sizes, servers), "known": known}
        shown = str(sizes) if len(sizes) < 10 else f"{len(sizes)} tensors"
        name = f"With {shown} on {count(servers, 'server')}"
        made.append(Case(name, ((sizes, servers),), facts=facts))
    return made


def _with_ties(random: np.random.Generator) -> list[int]:
    """Sizes some of which are equal, so that it tells in which order those are taken, on 3."""
    while True:
        sizes = [4 * int(s) for s in random.integers(1, 7, 9)]
        if len({str(rule(sizes, 3)) for rule in (wrong.reference, *wrong.TIES.values())}) == 4:
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
    return (
        f"{case.name}, `sizes` is another list afterwards: whoever called needs it still. Sort or "
        "mark a list of your own."
    )


def _by_rule(name: str, words: str) -> Look:
    def look(case: Case, seen: Observation) -> str | None:
        sizes, servers = case.args[0]
        got = _got(case, seen)
        if got is None or got != case.facts["known"][name]:
            return None
        most, least = (max(loads(sizes, p, servers)) for p in (got, case.facts["want"]))
        return f"{case.name}, {words.format(most=most, least=least)}"

    return look


def _as_groups(case: Case, seen: Observation) -> str | None:
    sizes, servers = case.args[0]
    groups = returned(seen.values[0])
    if len(groups) != servers or not all(isinstance(group, list) for group in groups):
        return None
    if sorted(i for group in groups for i in group) != list(range(len(sizes))):
        return None
    return (
        f"{case.name}, you gave the tensors of each server: the other way round was asked for, "
        "the server of each tensor."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    sizes, servers = cases[0].args[0]
    held = loads(sizes, [int(p) for p in seen[0].values[0]], servers)
    turns = max(loads(sizes, [i % servers for i in range(len(sizes))], servers))
    return (
        f"Passed with 1, 2, 3 and 5 servers: {sum(sizes)} B lie {held} on {servers}; taking turns, "
        f"one of them would hold {turns}."
    )


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
    mistakes=(
        Mistake("uses up the list", _used_up),
        Mistake("gives groups", _as_groups),
        Mistake(
            "the first of equal tensors each time",
            _by_rule(
                "index of size",
                "equal tensors were taken for the same one: `sizes.index` finds the first of "
                "them each time. Sort the tensors' numbers, not their sizes.",
            ),
        ),
        Mistake(
            "last of equal servers",
            _by_rule(
                "last server",
                "where servers hold equally much you take the last of them: take the first, so "
                "that everybody's answer is the same. (The balance is as good.)",
            ),
        ),
        Mistake(
            "last of equal tensors",
            _by_rule(
                "last tensor",
                "tensors of one size are taken from the last to the first: take equal ones in the "
                "model's order, as `sorted(..., key=lambda i: -sizes[i])` does and a list turned "
                "round does not.",
            ),
        ),
        Mistake(
            "last of equal servers and tensors",
            _by_rule(
                "last of both",
                "ties are broken from the end: of equal servers the first gets the tensor, "
                "and of equal tensors the first is placed first.",
            ),
        ),
        Mistake(
            "takes turns",
            _by_rule(
                "round robin",
                "the servers take turns, whatever a tensor's size: the fullest holds {most} B, "
                "where {least} B would do.",
            ),
        ),
        Mistake(
            "in the model's order",
            _by_rule(
                "unsorted",
                "the tensors were taken in the model's order, and a large one came last: the "
                "fullest server holds {most} B instead of {least} B. Begin with the largest.",
            ),
        ),
        Mistake(
            "smallest first",
            _by_rule(
                "smallest first",
                "the smallest tensor went first, so the largest comes on top of a server that has "
                "much already ({most} B instead of {least} B). Sort the other way.",
            ),
        ),
        Mistake(
            "counts tensors",
            _by_rule(
                "fewest tensors",
                "each server got as many tensors as the others, not as many bytes: {most} B on the "
                "fullest instead of {least} B.",
            ),
        ),
        Mistake(
            "in sorted order",
            _by_rule(
                "in sorted order",
                "the servers are right but stand in the order of the sorted sizes: entry i of the "
                "answer is the server of sizes[i].",
            ),
        ),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("round robin", wrong.round_robin, hint="take turns"),
        WrongAnswer("unsorted", wrong.unsorted, hint="in the model's order, and"),
        WrongAnswer("smallest first", wrong.smallest_first, hint="Sort the other way"),
        WrongAnswer("fewest tensors", wrong.fewest_tensors, hint="not as many bytes"),
        WrongAnswer("in sorted order", wrong.in_sorted_order, hint="order of the sorted sizes"),
        WrongAnswer("last server", wrong.last_server, hint="hold equally much"),
        WrongAnswer("last tensor", wrong.last_tensor, hint="tensors of one size"),
        WrongAnswer("last of both", wrong.last_of_both, hint="ties are broken"),
        WrongAnswer("index of a size", wrong.index_of_size, hint="taken for the same one"),
        WrongAnswer("marks what is placed", wrong.marks, hint="another list afterwards"),
        WrongAnswer("as groups", wrong.as_groups, hint="the other way round"),
    ),
    ranked=False,
)
