"""Exercise 17.4, cut for other ranks: where a rank finds its elements of a saved row.

`pieces(length, parts, rank, size)`: tuples (part, start, stop) in order, of which none is empty:
elements start to stop of the slice that old rank `part` has saved. The claim: each new rank's
pieces give its own elements, each once, and no padding. A row is cut for n ranks in slices of
⌈length/n⌉; zeros fill the last ones up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.algorithms.checkpoints.resharding import pieces as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe
from helpers.exercises.drives_pieces import on_each_rank
from helpers.exercises.lesson_17 import pieces_wrong as wrong
from helpers.exercises.lesson_17.pieces_reason import (
    Piece,
    backward,
    first_wrong,
    given,
    listed,
    told_of,
)
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_SHAPES = (
    *((17, 5, 3), (10, 4, 2), (10, 3, 4), (11, 2, 5)),
    *((7, 5, 1), (3, 5, 2), (12, 3, 3), (9, 1, 5)),
)


def cases(seed: int) -> list[Case]:
    """Seed 0: 17 elements from 5 ranks on 3, 10 on half as many ranks and on more, uneven rows on
    5 and on 1, fewer elements than ranks, as many ranks as before, from one rank, none at all; else
    longer ones."""
    random = rng(seed, "17.4")
    shapes = list(_SHAPES)
    if seed:
        more = [int(n) for n in random.integers(2, 9, len(shapes))]
        # As many whole slices more on each side: what is uneven stays so.
        shapes = [(n + 12 * parts * size * k, parts, size)
                  for k, (n, parts, size) in zip(more, _SHAPES, strict=True)]  # fmt: skip
        shapes += [(3, 5, 2), (2, 4, 5), (int(random.integers(20, 60)) * 7 + 3, 7, 5)]
    shapes += [(0, 2, 3), (8, 4, 2)]
    return [
        Case(
            f"{count(length, 'element')} from {count(parts, 'rank')} on {count(size, 'rank')}",
            ((length, parts, size),),
            size,
            facts={"want": [_wanted(length, parts, rank, size) for rank in range(size)]},
        )
        for length, parts, size in shapes
    ]


def _wanted(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    return [(part, start, stop) for part, start, stop in reference(length, parts, rank, size)]


def claim(case: Case, seen: Observation) -> str | None:
    """Each rank's pieces, in order."""
    found = first_wrong(case, seen)
    if found is None:
        return None
    rank, value, _ = found
    if given(value) is not None:
        return f"{case.name}, {told_of(*found)}."
    return (
        f"{case.name}, rank {rank} gets {describe(value)}; a list of tuples (part, start, stop) of "
        "whole numbers was asked for."
    )


def compared(case: Case, seen: Observation) -> Any:
    """The pieces, whatever holds them."""
    return [given(value) for value in seen.values[0][0]]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    length, parts, size = case.args[0]
    found = first_wrong(case, seen) or (0, None, [])
    rank, old, new = found[0], -(-length // parts), -(-length // size)
    return {
        "told": told_of(*found),
        "rank": rank,
        **{"length": length, "parts": parts, "size": size, "old": old, "new": new},
        **{"first": min(rank * new, length), "last": min((rank + 1) * new, length)},
        "padding": parts * old - length,
        "padded": parts * old,
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    length, parts, size = cases[0].args[0]
    return (
        f"Passed, up to 5 ranks and back: every element comes to its rank once. Of {length} "
        f"elements that {parts} ranks have saved, rank 1 of {size} reads "
        f"{listed(cases[0].facts['want'][1])}."
    )


def _known(name: str, answer: Any, what: str) -> WrongAnswer:
    return WrongAnswer(name, answer, f"{{told}}: {what}")


EXERCISE = Exercise(
    number="17.4",
    title="Cut for other ranks",
    stars=2,
    minutes=15,
    points=3,
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
    wrong=(
        _known(
            "rounds down",
            wrong.rounds_down,
            "{length} // {size} loses what is left over. Slices are rounded up, ⌈{length}/{size}⌉ "
            "= {new} elements, and {length} over {parts} ranks as well.",
        ),
        _known(
            "rounds to the nearest",
            wrong.rounds_to_nearest,
            "you round {length}/{parts} and {length}/{size} to the nearest number. Slices are "
            "rounded up: ⌈{length}/{parts}⌉ = {old} elements before and ⌈{length}/{size}⌉ = {new} "
            "now.",
        ),
        _known(
            "even cuts",
            wrong.even_cuts,
            "you cut at ⌊r · length/n⌋, as a batch is scattered. A sharded row has slices of "
            "⌈length/n⌉, all of one length, {old} before and {new} now; the last are filled up.",
        ),
        _known(
            "one more for the first ranks",
            wrong.first_get_more,
            "you give the first ranks one element more. A sharded row has slices of one length, "
            "{old} before and {new} now; only the last ones have less of the row.",
        ),
        _known(
            "the rest to the last rank",
            wrong.last_gets_the_rest,
            "you give the last rank what is left over. A sharded row has slices of one length, "
            "{old} before and {new} now; the last rank has what remains of the row, which is less.",
        ),
        _known(
            "one more in every slice",
            wrong.one_more,
            "length // n + 1 is one too many where n divides the length. Rounded up is "
            "-(-length // n): {old} before and {new} now.",
        ),
        _known(
            "padding is read",
            wrong.with_padding,
            "the row ends at element {length}. What the last slices have beyond that is padding, "
            "which lies elsewhere on {size} ranks and is read by nobody: min(…, length).",
        ),
        _known(
            "the padded row is cut",
            wrong.cuts_the_padded_row,
            "you cut the {padded} elements that the old slices have together. {padding} of these "
            "are padding: the new slices have ⌈{length}/{size}⌉ = {new} elements.",
        ),
        _known(
            "new slices of the padded row",
            wrong.new_slices_of_the_padded_row,
            "your new slices are as long as if the {padding} elements of padding were to be dealt "
            "out too. They have ⌈{length}/{size}⌉ = {new} elements.",
        ),
        _known(
            "counted in the whole row",
            wrong.in_the_whole_row,
            "you count in the whole row. Part p begins at element p · {old} of it; in the file of "
            "part p, that is element 0.",
        ),
        _known(
            "counted in the new slice",
            wrong.in_the_new_slice,
            "you say where the elements go in the new slice. Asked for is where they lie in the "
            "old ones.",
        ),
        _known(
            "empty pieces",
            wrong.keeps_empty_ones,
            "from some parts there is nothing to take, and their files need not be opened. List a "
            "piece only where its start is below its stop.",
        ),
        _known(
            "empty pieces where slices meet",
            wrong.keeps_touching_ones,
            "a slice that ends where the other begins shares no element with it: start < stop, "
            "not ≤.",
        ),
        _known(
            "an empty piece where a slice ends",
            wrong.one_part_more,
            "the part with the last element is number ({last} − 1) // {old}. Where a slice ends "
            "with a part, {last} // {old} is the next one.",
        ),
        _known(
            "empty pieces from the last parts",
            wrong.keeps_parts_of_padding,
            "some parts hold padding alone, and there is nothing to take from them.",
        ),
        _known(
            "the last element counted in",
            wrong.stop_is_the_last,
            "your stop is the last element; it is the first one outside: `slice[start:stop]`.",
        ),
        _known(
            "the stop by its remainder",
            wrong.stop_by_remainder,
            "you work the stop out as its remainder by {old}, which is 0 for a piece that goes to "
            "the end of its part. Take off where the part begins.",
        ),
        _known(
            "counted from one",
            wrong.from_one,
            "you count elements from 1. They are counted from 0, as in `slice[start:stop]`.",
        ),
        _known(
            "how many for where it ends",
            wrong.start_and_length,
            "your third number is how many elements the piece has. Asked for is where it ends.",
        ),
        _known(
            "old and new exchanged",
            wrong.exchanged,
            "you cut the new slices for {parts} ranks and the old ones for {size}. `parts` ranks "
            "have saved; `size` ranks go on.",
        ),
        _known(
            "whole parts by number",
            wrong.whole_parts,
            "you deal whole parts out, as if {size} ranks got so many of the {parts} each. Where "
            "one does not divide the other, a part belongs to several ranks: cut it.",
        ),
        _known(
            "round robin",
            wrong.round_robin,
            "you give rank r the parts r, r + size, … A rank’s elements follow one another in the "
            "row, {first} to {last} here.",
        ),
        _known(
            "whole parts that overlap",
            wrong.overlapping_parts,
            "these are the right parts, but whole. Of each, take only what lies between elements "
            "{first} and {last} of the row.",
        ),
        _known(
            "the start is not cut",
            wrong.start_not_cut,
            "the first piece begins at element {first} of the row, which need not be where its "
            "part begins: max(…) of the two.",
        ),
        _known(
            "the stop is not cut",
            wrong.stop_not_cut,
            "the last piece ends at element {last} of the row, which need not be where its part "
            "ends: min(…) of the two.",
        ),
        _known(
            "one piece alone",
            wrong.first_alone,
            "a slice may reach over several old ones. Go on until element {last} of the row.",
        ),
        _known(
            "the first and the last",
            wrong.ends_alone,
            "between the part where the slice begins and the one where it ends there may be whole "
            "parts.",
        ),
        _known(
            "the last first",
            wrong.backwards,
            "the right pieces from last to first. They are joined in the order you give them.",
        ),
        _known(
            "all ranks' pieces",
            wrong.of_all_ranks,
            "that is what all ranks read. Asked for are the pieces of rank {rank}, elements "
            "{first} to {last}.",
        ),
        _known(
            "the rank that reads",
            wrong.names_itself,
            "your first number is the rank that reads. It has to say whose file it reads.",
        ),
        WrongAnswer("all parts", wrong.keeps_backward_ones, hint="ends before it begins"),
    ),
    ranked=False,
)
