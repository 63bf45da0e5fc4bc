"""Pieces of a saved row that are not a rank's own (17.4)."""

from __future__ import annotations

from collections.abc import Callable

Piece = tuple[int, int, int]
Cut = Callable[[int, int, int], tuple[int, int]]  # of length, rank, size
Asked = Callable[[int, int, int, int], list[Piece]]


def padded_bounds(length: int, rank: int, size: int) -> tuple[int, int]:
    """A slice with its padding."""
    each = -(-length // size)
    return rank * each, (rank + 1) * each


def bounds(length: int, rank: int, size: int) -> tuple[int, int]:
    """A slice without its padding."""
    start, stop = padded_bounds(length, rank, size)
    return min(start, length), min(stop, length)


def overlaps(length: int, parts: int, rank: int, size: int, cut: Cut = bounds) -> list[Piece]:
    """For each part, from where to where it overlaps with a rank's slice in the row, if it does."""
    start, stop = cut(length, rank, size)
    each = [(part, *cut(length, part, parts)) for part in range(parts)]
    found = [(part, max(start, first), min(stop, last)) for part, first, last in each]
    return [(part, begin, end) for part, begin, end in found if begin < end]


def _right(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    old = -(-length // parts)
    found = overlaps(length, parts, rank, size)
    return [(part, begin - part * old, end - part * old) for part, begin, end in found]


def _cut_by(cut: Cut) -> Asked:
    """The right way with other slices."""

    def pieces(length: int, parts: int, rank: int, size: int) -> list[Piece]:
        starts = [cut(length, part, parts)[0] for part in range(parts)]
        found = overlaps(length, parts, rank, size, cut)
        return [(part, begin - starts[part], end - starts[part]) for part, begin, end in found]

    return pieces


def _down(length: int, rank: int, size: int) -> tuple[int, int]:
    each = length // size
    return rank * each, (rank + 1) * each


def _even(length: int, rank: int, size: int) -> tuple[int, int]:
    return rank * length // size, (rank + 1) * length // size


def _first_more(length: int, rank: int, size: int) -> tuple[int, int]:
    each, more = divmod(length, size)
    return rank * each + min(rank, more), (rank + 1) * each + min(rank + 1, more)


def _rest_to_last(length: int, rank: int, size: int) -> tuple[int, int]:
    start, stop = _down(length, rank, size)
    return start, length if rank == size - 1 else stop


def _one_more(length: int, rank: int, size: int) -> tuple[int, int]:
    each = length // size + 1
    return min(rank * each, length), min((rank + 1) * each, length)


def _rounded(length: int, rank: int, size: int) -> tuple[int, int]:
    each = round(length / size)
    return min(rank * each, length), min((rank + 1) * each, length)


rounds_to_nearest = _cut_by(_rounded)
rounds_down = _cut_by(_down)
last_gets_the_rest = _cut_by(_rest_to_last)
one_more = _cut_by(_one_more)
even_cuts = _cut_by(_even)
first_get_more = _cut_by(_first_more)
with_padding = _cut_by(padded_bounds)


def cuts_the_padded_row(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """As if the padding were part of the row."""
    return _right(-(-length // parts) * parts, parts, rank, size)


def new_slices_of_the_padded_row(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """The padding counts for the new slices' length, and is not read."""
    new = -(-(-(-length // parts) * parts) // size)
    found = []
    for part in range(parts):
        first, last = bounds(length, part, parts)
        begin, end = max(rank * new, first), min((rank + 1) * new, last)
        if begin < end:
            found.append((part, begin - first, end - first))
    return found


in_the_whole_row = overlaps


def in_the_new_slice(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """Where the elements go."""
    new = rank * -(-length // size)
    found = overlaps(length, parts, rank, size)
    return [(part, begin - new, end - new) for part, begin, end in found]


def _keeping(where: Callable[[int, int], bool], clipped: bool = False) -> Asked:
    """Pieces are listed where this holds of their begin and end in the row."""

    def pieces(length: int, parts: int, rank: int, size: int) -> list[Piece]:
        start, stop = bounds(length, rank, size)
        found = []
        for part in range(parts):
            first, last = bounds(length, part, parts)
            begin, end = max(start, first), min(stop, last)
            if where(begin, end):
                end = max(begin, end) if clipped else end
                found.append((part, begin - first, end - first))
        return found

    return pieces


keeps_backward_ones = _keeping(lambda begin, end: True)
keeps_empty_ones = _keeping(lambda begin, end: True, clipped=True)
keeps_touching_ones = _keeping(lambda begin, end: begin <= end)


def one_part_more(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """From the part with the first element to the one that has what comes after the last."""
    old = max(1, -(-length // parts))
    start, stop = bounds(length, rank, size)
    found = []
    for part in range(start // old, min(stop // old + 1, parts)):
        begin, end = max(start, part * old), min(stop, (part + 1) * old)
        found.append((part, begin - part * old, end - part * old))
    return found


def keeps_parts_of_padding(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """From the part with the slice's first element to that with its last, of the padded row."""
    old = max(1, -(-length // parts))
    start, stop = padded_bounds(length, rank, size)
    found = []
    for part in range(start // old, min(-(-stop // old), parts)):
        first, last = bounds(length, part, parts)
        begin, end = max(start, first), max(start, first, min(stop, last))
        found.append((part, begin - first, end - first))
    return found


def _turned(turn: Callable[[Piece, int, int], Piece]) -> Asked:
    """Each of the right pieces turned into something else; of the rank and the old slice too."""

    def pieces(length: int, parts: int, rank: int, size: int) -> list[Piece]:
        old = -(-length // parts)
        return [turn(piece, rank, old) for piece in _right(length, parts, rank, size)]

    return pieces


stop_is_the_last = _turned(lambda piece, rank, old: (piece[0], piece[1], piece[2] - 1))
stop_by_remainder = _turned(lambda piece, rank, old: (*piece[:2], piece[2] % old))
from_one = _turned(lambda piece, rank, old: (piece[0], piece[1] + 1, piece[2] + 1))
start_and_length = _turned(lambda piece, rank, old: (piece[0], piece[1], piece[2] - piece[1]))
names_itself = _turned(lambda piece, rank, old: (rank, piece[1], piece[2]))


def exchanged(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """The two worlds for each other; a rank that there is not has nothing."""
    return _right(length, size, rank, parts)


def _whole(length: int, part: int, parts: int) -> Piece:
    first, last = bounds(length, part, parts)
    return part, 0, last - first


def whole_parts(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """Parts dealt out as if they were elements."""
    mine = range(rank * parts // size, (rank + 1) * parts // size)
    return [_whole(length, part, parts) for part in mine]


def round_robin(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """Every so many-th part."""
    return [_whole(length, part, parts) for part in range(rank, parts, size)]


def overlapping_parts(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """The parts that have something, with all they have."""
    mine = [part for part, _, _ in overlaps(length, parts, rank, size)]
    return [_whole(length, part, parts) for part in mine]


def start_not_cut(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """Each piece from the start of its part."""
    return [(part, 0, stop) for part, _, stop in _right(length, parts, rank, size)]


def stop_not_cut(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """Each piece to the end of its part."""
    found = _right(length, parts, rank, size)
    return [(part, start, _whole(length, part, parts)[2]) for part, start, _ in found]


def first_alone(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """The part in which the slice begins."""
    return _right(length, parts, rank, size)[:1]


def ends_alone(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """The part in which it begins, and the one in which it ends."""
    found = _right(length, parts, rank, size)
    return found if len(found) < 2 else [found[0], found[-1]]


def backwards(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """From the last part to the first."""
    return _right(length, parts, rank, size)[::-1]


def of_all_ranks(length: int, parts: int, rank: int, size: int) -> list[Piece]:
    """Every rank's pieces."""
    return [piece for each in range(size) for piece in _right(length, parts, each, size)]
