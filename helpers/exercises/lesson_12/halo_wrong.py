"""The reference of exercise 12.4, and halos with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(comm: Any, rows: Any, reach: int) -> Any:
    """The course's own, which takes pictures with channels."""
    from helpers.algorithms.halo_split import add_halo

    return add_halo(comm, rows[None, None], reach)[0, 0]


def _swap(comm: Any, rows: Any, reach: int, first: Any, last: Any, zeros: bool = True) -> Any:
    """Sends `first` up and `last` down, and puts what comes round the rows."""
    import torch

    up = comm.rank - 1 if comm.rank > 0 else None
    down = comm.rank + 1 if comm.rank + 1 < comm.size else None
    sending = []
    if up is not None:
        sending.append(comm.isend(first, up))
    if down is not None:
        sending.append(comm.isend(last, down))
    nothing = rows.new_zeros(reach if zeros else 0, rows.shape[1])
    above = nothing if up is None else comm.recv(up)[-reach:]
    below = nothing if down is None else comm.recv(down)[:reach]
    for request in sending:
        request.wait()
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
    return _swap(comm, rows, reach, rows[-reach:], rows[:reach])


def no_zeros(comm: Any, rows: Any, reach: int) -> Any:
    """Nothing beyond the picture."""
    return _swap(comm, rows, reach, rows[:reach], rows[-reach:], zeros=False)


def one_row(comm: Any, rows: Any, reach: int) -> Any:
    """One row, whatever the reach."""
    return _swap(comm, rows, 1, rows[:1], rows[-1:])


def whole_slices(comm: Any, rows: Any, reach: int) -> Any:
    """Sends all rows, and takes the border out of what comes."""
    return _swap(comm, rows, reach, rows, rows)


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
