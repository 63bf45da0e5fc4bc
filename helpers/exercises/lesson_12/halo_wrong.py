"""Wrong answers to exercise 12.4: halos with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _halo(
    comm: Any,
    rows: Any,
    reach: int,
    lend: Callable[[Any, int], tuple[Any, Any]] = lambda rows, reach: (rows[:reach], rows[-reach:]),
    put: Callable[..., Any] = lambda above, rows, below, reach: torch.cat([above, rows, below]),
    turned: bool = False,
    order: tuple[int, ...] = (1, -1),
    last: int = 1,
    waits: bool = True,
) -> Any:
    """As it should be, but for the options.

    lend: what is sent up and what down. put: the result, of what came and the rows. turned: takes
    up for down. order: of the sends, -1 for up. last: how many of the last ranks borrow nothing
    below. waits: for the sends.
    """
    first, final = lend(rows, reach)
    sending = [
        comm.isend(first if (way < 0) != turned else final, comm.rank + way)
        for way in order
        if 0 <= comm.rank + way < comm.size
    ]
    nothing = rows.new_zeros(reach, rows.shape[1])
    above = comm.recv(comm.rank - 1) if comm.rank > 0 else nothing
    below = comm.recv(comm.rank + 1) if comm.rank + last < comm.size else nothing
    for request in sending if waits else []:
        request.wait()
    return put(*((below, rows, above) if turned else (above, rows, below)), reach)


def _with(**options: Any) -> Callable[..., Any]:
    """The halo with other options."""

    def with_halo(comm: Any, rows: Any, reach: int) -> Any:
        return _halo(comm, rows, reach, **options)

    return with_halo


def _changed(change: Callable[..., Any]) -> Callable[..., Any]:
    """The halo, and something else made of it: of the rank and how many there are, too."""

    def with_halo(comm: Any, rows: Any, reach: int) -> Any:
        return change(_halo(comm, rows, reach), rows, reach, comm.rank, comm.size)

    return with_halo


other_side = _with(lend=lambda rows, reach: (rows[-reach:], rows[:reach]))
whole_slices = _with(
    lend=lambda rows, reach: (rows, rows),
    put=lambda above, rows, below, reach: torch.cat([above[-reach:], rows, below[:reach]]),
)
wrong_sides = _with(put=lambda above, rows, below, reach: torch.cat([below, rows, above]))
only_above = _with(put=lambda above, rows, below, reach: torch.cat([above, rows, below * 0]))
only_below = _with(put=lambda above, rows, below, reach: torch.cat([above * 0, rows, below]))
above_alone = _with(put=lambda above, rows, below, reach: torch.cat([above, rows]))
below_alone = _with(put=lambda above, rows, below, reach: torch.cat([rows, below]))
swapped = _with(turned=True)
never_sends_down = _with(order=(-1,))
misses_the_last = _with(last=2)
never_waits = _with(waits=False)
to_itself = _with(order=(1, 0, -1))

one_row = _changed(lambda wide, rows, reach, rank, size: wide[reach - 1 : len(wide) - reach + 1])
no_zeros = _changed(
    lambda wide, rows, reach, rank, size: wide[
        reach if rank == 0 else 0 : len(wide) - (reach if rank == size - 1 else 0)
    ]
)


def _repeated(wide: Any, rows: Any, reach: int, rank: int, size: int) -> Any:
    if rank == 0:
        wide[:reach] = rows[0]
    if rank == size - 1:
        wide[-reach:] = rows[-1]
    return wide


def _cleared(wide: Any, rows: Any, reach: int, rank: int, size: int) -> Any:
    rows.zero_()
    return wide


repeats = _changed(_repeated)
in_place = _changed(_cleared)


def ring(comm: Any, rows: Any, reach: int) -> Any:
    """The last rank is the first one's neighbour."""
    if comm.size == 1:
        return torch.cat([rows[-reach:], rows, rows[:reach]])
    up, down = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    sending = [comm.isend(rows[:reach], up), comm.isend(rows[-reach:], down)]
    # On two ranks both come from the same one, in the order in which they were sent.
    below, above = comm.recv(down), comm.recv(up)
    for request in sending:
        request.wait()
    return torch.cat([above, rows, below])


def no_guard(comm: Any, rows: Any, reach: int) -> Any:
    sending = [comm.isend(rows[:reach], comm.rank - 1), comm.isend(rows[-reach:], comm.rank + 1)]
    above, below = comm.recv(comm.rank - 1), comm.recv(comm.rank + 1)
    for request in sending:
        request.wait()
    return torch.cat([above, rows, below])


def _in_turn(*steps: str) -> Callable[..., Any]:
    """Blocking messages, in the order of the steps, such as "send up"; as far as there is one."""

    def with_halo(comm: Any, rows: Any, reach: int) -> Any:
        halo = {"up": rows.new_zeros(reach, rows.shape[1])}
        halo["down"] = halo["up"]
        for step in steps:
            doing, way = step.split()
            other = comm.rank + (1 if way == "down" else -1)
            if 0 <= other < comm.size and doing == "send":
                comm.send(rows[:reach] if way == "up" else rows[-reach:], other)
            elif 0 <= other < comm.size:
                halo[way] = comm.recv(other)
        return torch.cat([halo["up"], rows, halo["down"]])

    return with_halo


blocking = _in_turn("send up", "send down", "receive down", "receive up")
receives_first = _in_turn("receive up", "receive down", "send down", "send up")
chain = _in_turn("receive up", "send down", "receive down", "send up")
