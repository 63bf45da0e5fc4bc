"""The reference of exercise 12.4, and halos with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(comm: Any, rows: Any, reach: int) -> Any:
    """The course's own, which takes pictures with channels."""
    from helpers.algorithms.splitting.halo_split import add_halo

    return add_halo(comm, rows[None, None], reach)[0, 0]


def _swap(
    comm: Any,
    rows: Any,
    first: Any,
    last: Any,
    beyond: tuple[Any, Any],
    order: tuple[int, int] = (1, -1),
    turned: bool = False,
) -> tuple[Any, Any]:
    """Sends `first` up and `last` down; what comes from above and from below, or `beyond`.

    order: of the sends, 1 for down and -1 for up. turned: takes up for down.
    """
    up, down = comm.rank - 1, comm.rank + 1
    sending = {
        way: comm.isend(last if way == (-1 if turned else 1) else first, comm.rank + way)
        for way in order
        if 0 <= comm.rank + way < comm.size
    }
    come = [
        comm.recv(where) if 0 <= where < comm.size else nothing
        for where, nothing in zip((up, down), beyond[::-1] if turned else beyond, strict=True)
    ]
    for request in sending.values():
        request.wait()
    return (come[1], come[0]) if turned else (come[0], come[1])


def _zeros(rows: Any, reach: int) -> tuple[Any, Any]:
    nothing = rows.new_zeros(reach, rows.shape[1])
    return nothing, nothing


def _halo(comm: Any, rows: Any, reach: int, **options: Any) -> Any:
    """As it should be, but for the options."""
    import torch

    beyond = options.pop("beyond", None) or _zeros(rows, reach)
    above, below = _swap(comm, rows, rows[:reach], rows[-reach:], beyond, **options)
    return torch.cat([above, rows, below])


def blocking(comm: Any, rows: Any, reach: int) -> Any:
    """Everybody sends down first and waits; nobody is there to receive but the last."""
    import torch

    above = below = rows.new_zeros(reach, rows.shape[1])
    if comm.rank > 0:
        comm.send(rows[:reach], comm.rank - 1)
    if comm.rank + 1 < comm.size:
        comm.send(rows[-reach:], comm.rank + 1)
        below = comm.recv(comm.rank + 1)
    if comm.rank > 0:
        above = comm.recv(comm.rank - 1)
    return torch.cat([above, rows, below])


def ring(comm: Any, rows: Any, reach: int) -> Any:
    """The last rank is the first one's neighbour."""
    import torch

    if comm.size == 1:
        return torch.cat([rows[-reach:], rows, rows[:reach]])
    up, down = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    sending = [comm.isend(rows[:reach], up), comm.isend(rows[-reach:], down)]
    if up == down:  # on two ranks both come from the same one, in the order they were sent
        below, above = comm.recv(down), comm.recv(up)
    else:
        above, below = comm.recv(up), comm.recv(down)
    for request in sending:
        request.wait()
    return torch.cat([above, rows, below])


def other_side(comm: Any, rows: Any, reach: int) -> Any:
    """Sends the last rows up and the first rows down."""
    import torch

    above, below = _swap(comm, rows, rows[-reach:], rows[:reach], _zeros(rows, reach))
    return torch.cat([above, rows, below])


def no_zeros(comm: Any, rows: Any, reach: int) -> Any:
    """Nothing beyond the picture."""
    return _halo(comm, rows, reach, beyond=(rows[:0], rows[:0]))


def one_row(comm: Any, rows: Any, reach: int) -> Any:
    """One row, whatever the reach."""
    return _halo(comm, rows, 1)


def whole_slices(comm: Any, rows: Any, reach: int) -> Any:
    """Sends all rows, and takes the border out of what comes."""
    import torch

    above, below = _swap(comm, rows, rows, rows, _zeros(rows, reach))
    return torch.cat([above[-reach:], rows, below[:reach]])


def repeats(comm: Any, rows: Any, reach: int) -> Any:
    """Repeats the border beyond the picture."""
    beyond = rows[:1].expand(reach, -1), rows[-1:].expand(reach, -1)
    return _halo(comm, rows, reach, beyond=beyond)


def in_place(comm: Any, rows: Any, reach: int) -> Any:
    """Clears its rows when all is sent."""
    wider = _halo(comm, rows, reach)
    rows.zero_()
    return wider


def in_float32(comm: Any, rows: Any, reach: int) -> Any:
    """Puts the parts into a tensor of torch's usual type."""
    import torch

    wider = torch.zeros(len(rows) + 2 * reach, rows.shape[1])
    wider.copy_(_halo(comm, rows, reach))
    return wider


def never_waits(comm: Any, rows: Any, reach: int) -> Any:
    """Starts its sends and forgets them."""
    import torch

    above, below = _zeros(rows, reach)
    if comm.rank + 1 < comm.size:
        comm.isend(rows[-reach:], comm.rank + 1)
    if comm.rank > 0:
        comm.isend(rows[:reach], comm.rank - 1)
        above = comm.recv(comm.rank - 1)
    if comm.rank + 1 < comm.size:
        below = comm.recv(comm.rank + 1)
    return torch.cat([above, rows, below])


def wrong_sides(comm: Any, rows: Any, reach: int) -> Any:
    """Puts what came from below above."""
    import torch

    above, below = _swap(comm, rows, rows[:reach], rows[-reach:], _zeros(rows, reach))
    return torch.cat([below, rows, above])


def swapped(comm: Any, rows: Any, reach: int) -> Any:
    """Takes the rank after it for the one above."""
    return _halo(comm, rows, reach, turned=True)


def one_side(comm: Any, rows: Any, reach: int) -> Any:
    """Borrows above alone."""
    import torch

    sending = []
    if comm.rank + 1 < comm.size:
        sending.append(comm.isend(rows[-reach:], comm.rank + 1))
    above = comm.recv(comm.rank - 1) if comm.rank else rows.new_zeros(reach, rows.shape[1])
    for request in sending:
        request.wait()
    return torch.cat([above, rows, rows.new_zeros(reach, rows.shape[1])])


def no_guard(comm: Any, rows: Any, reach: int) -> Any:
    """Sends up and down everywhere."""
    import torch

    sending = [comm.isend(rows[:reach], comm.rank - 1), comm.isend(rows[-reach:], comm.rank + 1)]
    above, below = comm.recv(comm.rank - 1), comm.recv(comm.rank + 1)
    for request in sending:
        request.wait()
    return torch.cat([above, rows, below])


def receives_first(comm: Any, rows: Any, reach: int) -> Any:
    """Receives both halos before it sends."""
    import torch

    above, below = _zeros(rows, reach)
    if comm.rank > 0:
        above = comm.recv(comm.rank - 1)
    if comm.rank + 1 < comm.size:
        below = comm.recv(comm.rank + 1)
        comm.isend(rows[-reach:], comm.rank + 1).wait()
    if comm.rank > 0:
        comm.isend(rows[:reach], comm.rank - 1).wait()
    return torch.cat([above, rows, below])


def never_sends_down(comm: Any, rows: Any, reach: int) -> Any:
    """Only the send up."""
    return _halo(comm, rows, reach, order=(-1,))


def misses_the_last(comm: Any, rows: Any, reach: int) -> Any:
    """One rank too few receives from below."""
    import torch

    sending = []
    if comm.rank + 1 < comm.size:
        sending.append(comm.isend(rows[-reach:], comm.rank + 1))
    if comm.rank > 0:
        sending.append(comm.isend(rows[:reach], comm.rank - 1))
    above, below = _zeros(rows, reach)
    if comm.rank > 0:
        above = comm.recv(comm.rank - 1)
    if comm.rank + 2 < comm.size:
        below = comm.recv(comm.rank + 1)
    for request in sending:
        request.wait()
    return torch.cat([above, rows, below])


def chain(comm: Any, rows: Any, reach: int) -> Any:
    """First a wave down through all ranks, then one up again."""
    import torch

    above = below = rows.new_zeros(reach, rows.shape[1])
    if comm.rank > 0:
        above = comm.recv(comm.rank - 1)
    if comm.rank + 1 < comm.size:
        comm.send(rows[-reach:], comm.rank + 1)
        below = comm.recv(comm.rank + 1)
    if comm.rank > 0:
        comm.send(rows[:reach], comm.rank - 1)
    return torch.cat([above, rows, below])
