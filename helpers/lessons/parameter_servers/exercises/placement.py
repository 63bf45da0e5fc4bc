"""Exercise 05.4, which server holds which tensor.

Largest first, each to the first server with the fewest bytes so far, of equal tensors the first.
Source: longest processing time first, Graham (1969).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from helpers.checks.compare import count, describe, is_array, number
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.parameter_servers.algorithms.placement import place as reference


def cases(seed: int) -> list[Case]:
    """Seed 0: small models on 3, 2, 1 and 5 servers; else random ones.

    Last what is odd: ties, no tensor, tensors of no bytes and of gigabytes.
    """
    random, made = rng(seed, "05.4"), []
    mixed = [40, 10, 70, 10, 90, 30, 20, 50]
    models = [
        (mixed, 3),
        ([10, 30, 10, 20, 10, 20], 2),
        (mixed, 2),
        ([40, 10, 70], 1),
        ([8] * 7, 5),
        ([100, *[1] * 4], 2),
    ]
    # First of these: servers that hold equally much in another number of tensors.
    last = [([1, 2, 7, 1, 4, 4, 5, 2], 3), ([], 2), ([0, 30, 0, 20, 0], 4)]
    last.append(([3_000_000_008, 900_000_000, 3_000_000_004, 3_000_000_000, 8, 4], 3))
    last.append(([4 * int(s) for s in random.integers(1, 4, 60)], 4))  # where a sort is not stable
    models.append(([7], 3))
    if seed:
        others = [answer.function for answer in EXERCISE.wrong if "last of equal" in answer.name]
        ties: list[int] = []  # sizes of which it tells in which order equal ones are taken, on 3
        while len({str(rule(ties, 3)) for rule in (reference, *others)}) < 4:
            ties = [4 * int(s) for s in random.integers(1, 7, 9)]
        models = [(ties, 3)]
        for servers in (3, 2, 1, 5, 4, 8):
            sizes = [4 * int(s) for s in random.integers(1, 400, int(random.integers(9, 25)))]
            models.append((sizes, servers))
    for sizes, servers in [*models, *last]:
        shown = str(sizes) if len(sizes) < 10 else f"{len(sizes)} tensors"
        name = f"With {shown} on {count(servers, 'server')}"
        made.append(Case(name, ((sizes, servers),), facts={"want": reference(sizes, servers)}))
    return made


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
    if is_array(answer, (len(sizes),)):
        answer = answer.tolist()
    if not isinstance(answer, list | tuple):
        return None
    found = [int(p) for p in map(number, answer) if p is not None and p in range(servers)]
    return found if len(found) == len(answer) == len(sizes) else None


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """The server of every tensor."""
    sizes, servers = case.args[0]
    got, want = _got(case, seen), case.facts["want"]
    if got is None:
        gave = describe(returned(seen.values[0])).replace("a tensor", "an array")
        yield (
            f"your function gave {gave}; a list of {len(sizes)} "
            f"servers, numbered from 0 to {servers - 1}, was asked for."
        )
        return
    for at, (mine, right) in enumerate(zip(got, want, strict=True)):
        if mine != right:
            held, best = (loads(sizes, places, servers) for places in (got, want))
            told = f"largest first gives {best} B"
            if held == best:
                told = "as with largest first, of other tensors"
            where = f"Tensor {at} goes to server {right}, not {mine}."
            yield f"the servers hold {held} B; {told}. {where}"
    yield from _used_up(case, seen)


def _used_up(case: Case, seen: Observation) -> Iterator[str]:
    if changed(seen.values[0]) is not None:
        yield "`sizes` is another list afterwards: sort or mark a list of your own."


def compared(case: Case, seen: Observation) -> Any:
    """The servers as plain numbers, or the groups in order; and whether `sizes` changed."""
    answer: Any = _got(case, seen)
    if answer is None:
        answer = [sorted(group) for group in returned(seen.values[0])]
    return [answer, changed(seen.values[0])]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the bytes on the fullest server, how many would do, what is wrong."""
    sizes, servers = case.args[0]
    got = _got(case, seen)
    pairs = enumerate(zip(got or (), case.facts["want"], strict=False))
    wrong = ((at, mine, right) for at, (mine, right) in pairs if mine != right)
    at, mine, right = next(wrong, (0, 0, 0))
    return {
        "first": f"tensor {at} goes to server {right}, not {mine}",
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


WRONG = """
marks what is placed
    | return places => sizes[:] = [-1] * len(sizes); return places
    ? another list afterwards
gives groups
    | return places
        => return [[i for i, at in enumerate(places) if at == s] for s in range(servers)]
    you gave the tensors of each server: the other way round was asked for, the server of each
    tensor.
the first of equal tensors each time
    | sorted(range(len(sizes)), key=lambda i: -sizes[i])
        => map(sizes.index, sorted(sizes, reverse=True))
    {first}. `sizes.index` finds the first of equal tensors each time: sort the tensors' numbers,
    not their sizes. And of servers that hold equally much take the first.
last of equal servers
    | held.index(min(held)) => servers - 1 - held[::-1].index(min(held))
    where servers hold equally much you take the last of them: take the first, so that everybody's
    answer is the same. (The balance is as good.)
last of equal tensors
    | -sizes[i] => (-sizes[i], -i)
    tensors of one size are taken from the last to the first: take equal ones in the model's order,
    as `sorted(..., key=lambda i: -sizes[i])` does and a list turned round does not.
last of equal servers and tensors
    | -sizes[i] => (-sizes[i], -i)
    | held.index(min(held)) => servers - 1 - held[::-1].index(min(held))
    ties are broken from the end: of equal servers the first gets the tensor, and of equal tensors
    the first is placed first.
in turn
    | held.index(min(held)) => tensor % servers
    the servers take turns: {most} B on the fullest; {least} B do.
in the model's order
    | sorted(range(len(sizes)), key=lambda i: -sizes[i]) => range(len(sizes))
    the tensors were taken in the model's order, and a large one came last: the fullest server holds
    {most} B instead of {least} B. Begin with the largest.
smallest first
    | -sizes[i] => sizes[i]
    the smallest tensor went first, so the largest comes on top of a server that has much already
    ({most} B instead of {least} B). Sort the other way.
counts tensors
    | += sizes[tensor] => += 1
    each server got as many tensors as the others, not as many bytes: {most} B on the fullest
    instead of {least} B.
in sorted order
    | return places
        => return [places[i] for i in sorted(range(len(sizes)), key=lambda i: -sizes[i])]
    the servers are right but stand in the order of the sorted sizes: entry i of the answer is the
    server of sizes[i].
"""

EXERCISE = Exercise(
    number="05.4",
    title="Who holds what",
    size=Size(stars=2, minutes=12, points=3),
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
    wrong=wrong_answers("05.4", WRONG, reference),
    ranked=False,
)
