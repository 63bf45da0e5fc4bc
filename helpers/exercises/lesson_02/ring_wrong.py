"""Wrong answers to exercise 02.3: rings that people really write."""

from __future__ import annotations

from typing import Any


def _ring(comm: Any, chunks: Any, add_again: bool = False, halves: int = 2) -> None:
    """A ring over given chunks, with what may be wrong about it."""
    size, right, left = comm.size, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for step in range(size - 1):
        sending = comm.isend(chunks[(comm.rank - step) % size], right)
        chunks[(comm.rank - step - 1) % size].add_(comm.recv(left))
        sending.wait()
    for step in range(size - 1 if halves == 2 else 0):
        sending = comm.isend(chunks[(comm.rank - step + 1) % size], right)
        got, mine = comm.recv(left), chunks[(comm.rank - step) % size]
        mine.copy_(mine + got if add_again else got)
        sending.wait()


def _cut(tensor: Any, size: int) -> list[Any]:
    n = len(tensor)
    return [tensor[r * n // size : (r + 1) * n // size] for r in range(size)]


def whole_tensors(comm: Any, tensor: Any) -> None:
    """Passes whole tensors round and adds what comes."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    passing = tensor.clone()
    for _ in range(comm.size - 1):
        sending = comm.isend(passing, right)
        got = comm.recv(left)
        sending.wait()
        tensor += got
        passing = got


def through_rank_0(comm: Any, tensor: Any) -> None:
    """Reduces to rank 0 and broadcasts from there."""
    if comm.rank:
        comm.send(tensor, 0)
        comm.recv(0, into=tensor)
        return
    for other in range(1, comm.size):
        tensor += comm.recv(other)
    for other in range(1, comm.size):
        comm.send(tensor, other)


def reduce_scatter_only(comm: Any, tensor: Any) -> None:
    """Stops after the first half."""
    _ring(comm, _cut(tensor, comm.size), halves=1)


def adds_in_both_halves(comm: Any, tensor: Any) -> None:
    """Adds in the second half too."""
    _ring(comm, _cut(tensor, comm.size), add_again=True)


def averages(comm: Any, tensor: Any) -> None:
    """Divides by the number of ranks."""
    _ring(comm, _cut(tensor, comm.size))
    tensor /= comm.size


def loses_rest(comm: Any, tensor: Any) -> None:
    """Chunks of `length // N`."""
    each = len(tensor) // comm.size
    _ring(comm, [tensor[r * each : (r + 1) * each] for r in range(comm.size)])


def torch_chunk(comm: Any, tensor: Any) -> None:
    """Cuts with `torch.chunk`, which gives three chunks of three elements on five ranks."""
    _ring(comm, tensor.chunk(comm.size))


def returns_new(comm: Any, tensor: Any) -> Any:
    """Works on a copy and returns it."""
    copy = tensor.clone()
    _ring(comm, _cut(copy, comm.size))
    return copy


def all_send_first(comm: Any, tensor: Any) -> None:
    """Every rank sends before it receives: a deadlock."""
    chunks = _cut(tensor, comm.size)
    for step in range(comm.size - 1):
        comm.send(chunks[(comm.rank - step) % comm.size], (comm.rank + 1) % comm.size)
        got = comm.recv((comm.rank - 1) % comm.size)
        chunks[(comm.rank - step - 1) % comm.size] += got
