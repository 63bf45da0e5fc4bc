"""Exercise 17.4, cut for other ranks: where a rank finds its elements of a saved row.

`pieces(length, parts, rank, size)`: tuples (part, start, stop) in order, of which none is empty:
elements start to stop of the slice that old rank `part` has saved. The claim: each new rank's
pieces give its own elements, each once, and no padding. A row is cut for n ranks in slices of
⌈length/n⌉; zeros fill the last ones up.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from helpers.checks.compare import count, describe, is_array
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Apart
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.cluster.algorithms.resharding import pieces as reference

Piece = tuple[int, int, int]


def cases(seed: int) -> list[Case]:
    """Seed 0: 17 elements from 5 ranks on 3, 10 on half as many ranks and on more, uneven rows on
    5 and on 1, fewer elements than ranks, as many ranks as before, from one rank, none at all; else
    longer ones."""
    random = rng(seed, "17.4")
    shapes = [(17, 5, 3), (10, 4, 2), (10, 3, 4), (11, 2, 5),
              (7, 5, 1), (3, 5, 2), (12, 3, 3), (9, 1, 5)]  # fmt: skip
    if seed:  # as many whole slices more on each side: what is uneven stays so
        more = [int(n) for n in random.integers(2, 9, len(shapes))]
        shapes = [(n + 12 * parts * size * k, parts, size)
                  for k, (n, parts, size) in zip(more, shapes, strict=True)]  # fmt: skip
        shapes += [(3, 5, 2), (2, 4, 5), (int(random.integers(20, 60)) * 7 + 3, 7, 5)]
    made = []
    for length, parts, size in [*shapes, (0, 2, 3), (8, 4, 2)]:
        name = f"{count(length, 'element')} from {count(parts, 'rank')} on {count(size, 'rank')}"
        want = [[*map(tuple, reference(length, parts, rank, size))] for rank in range(size)]
        made.append(Case(name, ((length, parts, size),), size, facts={"want": want}))
    return made


def _whole(value: Any) -> bool:
    return type(value) is int or (is_array(value, ()) and value.dtype.kind in "iu")


def given(value: Any) -> list[Piece] | None:
    """Pieces in any kind of list; None for anything else."""
    items = value.tolist() if is_array(value) else value
    if type(items) not in (list, tuple):
        return None
    found = list[Any]()
    for item in items:
        each = item.tolist() if is_array(item) else item
        if type(each) not in (list, tuple) or len(each) != 3 or not all(map(_whole, each)):
            return None
        found.append(tuple(map(int, each)))
    return found


def first_wrong(case: Case, seen: Observation) -> tuple[int, Any, list[Piece]] | None:
    """The first rank with other pieces than its own, what it gave, and what it should have."""
    for rank, (value, want) in enumerate(zip(seen.values[0][0], case.facts["want"], strict=True)):
        if given(value) != want:
            return rank, value, want
    return None


def listed(pieces: Sequence[Piece]) -> str:
    """Pieces in brackets; the first ones of many."""
    shown = ", ".join(map(str, pieces[:4]))
    return f"[{shown}, …]" if len(pieces) > 4 else f"[{shown}]"


def claim(case: Case, seen: Observation) -> str | None:
    """Each rank's pieces, in order."""
    found = first_wrong(case, seen)
    if found is None:
        return None
    if given(found[1]) is not None:
        return f"{numbers(case, seen)['told']}."
    return (
        f"rank {found[0]} gets {describe(found[1])}; a list of tuples (part, start, stop) of whole "
        "numbers was asked for."
    )


def backward(case: Case, seen: Observation) -> Iterator[str]:
    """A piece of less than no elements, from a part with which a slice has nothing in common."""
    for rank, value in enumerate(seen.values[0][0]):
        for part, start, stop in given(value) or []:
            if stop < start:
                yield (
                    f"rank {rank} gets {(part, start, stop)}, which ends before it begins: of part "
                    f"{part} it needs nothing. List a piece only where its start is below its stop."
                )


def compared(case: Case, seen: Observation) -> Any:
    """The pieces, whatever holds them."""
    return [given(value) for value in seen.values[0][0]]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    length, parts, size = case.args[0]
    rank, value, want = first_wrong(case, seen) or (0, [], [])
    old, new = -(-length // parts), -(-length // size)
    return {
        "told": f"rank {rank} gets {listed(given(value) or [])} instead of {listed(want)}",
        **{"rank": rank, "length": length, "parts": parts, "size": size, "old": old, "new": new},
        **{"first": min(rank * new, length), "last": min((rank + 1) * new, length)},
        **{"padding": parts * old - length, "padded": parts * old},
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    length, parts, size = cases[0].args[0]
    return (
        f"Passed, up to 5 ranks and back: every element comes to its rank once. Of {length} "
        f"elements that {parts} ranks have saved, rank 1 of {size} reads "
        f"{listed(cases[0].facts['want'][1])}."
    )


def _on_each_rank(fn: Function, rank: int, length: int, parts: int, size: int) -> list[Any]:
    return [plain(fn(length, parts, rank, size))]


on_each_rank = Apart(_on_each_rank, arguments=4)  # `values[0][0][rank]` is what it gave


def bounds(length: int, rank: int, size: int) -> tuple[int, int]:
    """Where a slice begins and ends in the row, without its padding."""
    each = -(-length // size)
    return min(rank * each, length), min((rank + 1) * each, length)


def by_bounds(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """The reference, with the same way to cut before and now."""
    start, stop = bounds(length, rank, size)
    found = []
    for part in range(parts):
        first, last = bounds(length, part, parts)
        begin, end = max(start, first), min(stop, last)
        if begin < end:
            found.append((part, begin - first, end - first))
    return found


def of_all_ranks(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    return [piece for each in range(size) for piece in by_bounds(length, parts, each, size)]


WRONG = """
rounds down
    | -(-length // size) => length // size
    {told}: {length} // {size} loses what is left over. Slices are rounded up, ⌈{length}/{size}⌉ =
    {new} elements, and {length} over {parts} ranks as well.
rounds to the nearest
    | -(-length // size) => round(length / size)
    {told}: you round {length}/{parts} and {length}/{size} to the nearest number. Slices are rounded
    up: ⌈{length}/{parts}⌉ = {old} elements before and ⌈{length}/{size}⌉ = {new} now.
even cuts
    | rank * each, => rank * length // size,
    | (rank + 1) * each => (rank + 1) * length // size
    {told}: you cut at ⌊r · length/n⌋, as a batch is scattered. A sharded row has slices of
    ⌈length/n⌉, all of one length, {old} before and {new} now; the last are filled up.
one more for the first ranks
    | each = -(-length // size) => each, more = divmod(length, size)
    | rank * each, => rank * each + min(rank, more),
    | (rank + 1) * each => (rank + 1) * each + min(rank + 1, more)
    {told}: you give the first ranks one element more. A sharded row has slices of one length, {old}
    before and {new} now; only the last ones have less of the row.
the rest to the last rank
    | -(-length // size) => length // size
    | (rank + 1) * each => length if rank == size - 1 else (rank + 1) * each
    {told}: you give the last rank what is left over. A sharded row has slices of one length, {old}
    before and {new} now; the last rank has what remains of the row, which is less.
one more in every slice
    | -(-length // size) => length // size + 1
    {told}: length // n + 1 is one too many where n divides the length. Rounded up is -(-length //
    n): {old} before and {new} now.
padding is read
    | min(rank * each, length), min((rank + 1) * each, length) => rank * each, (rank + 1) * each
    {told}: the row ends at element {length}. What the last slices have beyond that is padding,
    which lies elsewhere on {size} ranks and is read by nobody: min(…, length).
the padded row is cut
    | start, stop = => length = -(-length // parts) * parts; start, stop =
    {told}: you cut the {padded} elements that the old slices have together. {padding} of these are
    padding: the new slices have ⌈{length}/{size}⌉ = {new} elements.
new slices of the padded row
    | bounds(length, rank, size) => bounds(-(-length // parts) * parts, rank, size)
    {told}: your new slices are as long as if the {padding} elements of padding were to be dealt out
    too. They have ⌈{length}/{size}⌉ = {new} elements.
counted in the whole row
    | begin - first, end - first => begin, end
    {told}: you count in the whole row. Part p begins at element p · {old} of it; in the file of
    part p, that is element 0.
counted in the new slice
    | begin - first, end - first => begin - start, end - start
    {told}: you say where the elements go in the new slice. Asked for is where they lie in the old
    ones.
empty pieces
    | min(stop, last) => max(start, first, min(stop, last))
    | begin < end => True
    {told}: from some parts there is nothing to take, and their files need not be opened. List a
    piece only where its start is below its stop.
no pieces of one element
    | begin < end => end - begin > 1
    {told}: a piece of one element is a piece as well: its stop is its start + 1.
a piece for each element
    | found.append((part, begin - first, end - first))
        => found += [(part, at - first, at - first + 1) for at in range(begin, end)]
    {told}: you list each element on its own. What a rank needs of a part lies side by side there:
    it is one piece, from its start to its stop.
empty pieces where slices meet
    | begin < end => begin <= end
    {told}: a slice that ends where the other begins shares no element with it: start < stop, not ≤.
an empty piece where a slice ends
    | start, stop = => old = max(1, -(-length // parts)); start, stop =
    | begin < end => start // old <= part <= stop // old
    {told}: the part with the last element is number ({last} − 1) // {old}. Where a slice ends with
    a part, {last} // {old} is the next one.
empty pieces from the last parts
    | start, stop = bounds(length, rank, size)
        => old, new = -(-length // parts), -(-length // size);
        start, stop = rank * new, (rank + 1) * new
    | min(stop, last) => max(start, first, min(stop, last))
    | begin < end => start < (part + 1) * old and part * old < stop
    {told}: some parts hold padding alone, and there is nothing to take from them.
the last element counted in
    | end - first)) => end - first - 1))
    {told}: your stop is the last element; it is the first one outside: `slice[start:stop]`.
the stop by its remainder
    | end - first)) => end % -(-length // parts)))
    {told}: you work the stop out as its remainder by {old}, which is 0 for a piece that goes to the
    end of its part. Take off where the part begins.
counted from one
    | begin - first, end - first => begin - first + 1, end - first + 1
    {told}: you count elements from 1. They are counted from 0, as in `slice[start:stop]`.
how many for where it ends
    | end - first)) => end - begin))
    {told}: your third number is how many elements the piece has. Asked for is where it ends.
old and new exchanged
    | start, stop = => parts, size = size, parts; start, stop =
    {told}: you cut the new slices for {parts} ranks and the old ones for {size}. `parts` ranks have
    saved; `size` ranks go on.
whole parts by number
    | begin < end => rank * parts // size <= part < (rank + 1) * parts // size
    | begin - first, end - first => 0, last - first
    {told}: you deal whole parts out, as if {size} ranks got so many of the {parts} each. Where one
    does not divide the other, a part belongs to several ranks: cut it.
round robin
    | begin < end => part % size == rank
    | begin - first, end - first => 0, last - first
    {told}: you give rank r the parts r, r + size, … A rank’s elements follow one another in the
    row, {first} to {last} here.
whole parts that overlap
    | begin - first, end - first => 0, last - first
    {told}: these are the right parts, but whole. Of each, take only what lies between elements
    {first} and {last} of the row.
the start is not cut
    | begin - first, => 0,
    {told}: the first piece begins at element {first} of the row, which need not be where its part
    begins: max(…) of the two.
the stop is not cut
    | end - first)) => last - first))
    {told}: the last piece ends at element {last} of the row, which need not be where its part ends:
    min(…) of the two.
one piece alone
    | return found => return found[:1]
    {told}: a slice may reach over several old ones. Go on until element {last} of the row.
the first and the last
    | return found => return found[:1] + found[1:][-1:]
    {told}: between the part where the slice begins and the one where it ends there may be whole
    parts.
the last first
    | return found => return found[::-1]
    {told}: the right pieces from last to first. They are joined in the order you give them.
all ranks' pieces
    = of_all_ranks
    {told}: that is what all ranks read. Asked for are the pieces of rank {rank}, elements {first}
    to {last}.
the rank that reads
    | (part, begin => (rank, begin
    {told}: your first number is the rank that reads. It has to say whose file it reads.
all parts
    | begin < end => True
    ? ends before it begins
"""

EXERCISE = Exercise(
    number="17.4",
    title="Cut for other ranks",
    size=Size(stars=2, minutes=15, points=3),
    function="pieces",
    asks=(
        "where rank `rank` of `size` finds its elements in what `parts` ranks have saved: a list "
        "of tuples (part, start, stop), in order and none of them empty, with start and stop "
        "counted in that part’s own slice. For n ranks, a row is cut in slices of ⌈length/n⌉ "
        "elements; what a slice has beyond the row’s end is padding."
    ),
    cases=cases,
    drive=on_each_rank,
    claim=claim,
    numbers=numbers,
    compared=compared,
    mistakes=(Mistake("a piece that ends before it begins", backward),),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("17.4", WRONG, (by_bounds, bounds), of_all_ranks),
    ranked=False,
)
