"""Wrong answers to exercise 02.3: rings that people really write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _ring(comm: Any, chunks: Any, add_again: bool = False, halves: int = 2, more: int = 0) -> None:
    """A ring over given chunks, with what may be wrong about it."""
    size, right, left = comm.size, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for step in range(size - 1 + more):
        sending = comm.isend(chunks[(comm.rank - step) % size], right)
        chunks[(comm.rank - step - 1) % size].add_(comm.recv(left))
        sending.wait()
    for step in range(size - 1 + more if halves == 2 else 0):
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


def one_chunk_again(comm: Any, tensor: Any) -> None:
    """Sends its finished chunk at every step of the second half."""
    _second_half(comm, tensor, lambda step: (comm.rank, comm.rank - step - 1))


def as_the_first(comm: Any, tensor: Any) -> None:
    """Counts the second half's steps from 1, as the first half's."""
    _second_half(comm, tensor, lambda step: (comm.rank - step - 1, comm.rank - step - 2))


def _second_half(comm: Any, tensor: Any, places: Callable[[int], tuple[int, int]]) -> None:
    """A ring whose first half finishes chunk `rank`, then steps with places to send and to fill."""
    size, right, left = comm.size, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = _cut(tensor, size)
    for step in range(1, size):
        sending = comm.isend(chunks[(comm.rank - step) % size], right)
        chunks[(comm.rank - step - 1) % size] += comm.recv(left)
        sending.wait()
    for step in range(size - 1):
        send, fill = (place % size for place in places(step))
        sending = comm.isend(chunks[send].clone(), right)
        chunks[fill].copy_(comm.recv(left))
        sending.wait()


def step_too_many(comm: Any, tensor: Any) -> None:
    """N steps in each half."""
    _ring(comm, _cut(tensor, comm.size), more=comm.size > 1)


def renames(comm: Any, tensor: Any, both: bool = False) -> None:
    """Puts what arrives in the second half on the list of chunks, and not into the tensor."""
    size, right, left = comm.size, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = _cut(tensor, size)
    for step in range(1, size):
        sending = comm.isend(chunks[(comm.rank - step) % size], right)
        mine, got = (comm.rank - step - 1) % size, comm.recv(left)
        if both:
            chunks[mine] = chunks[mine] + got
        else:
            chunks[mine] += got
        sending.wait()
    for step in range(size - 1):
        sending = comm.isend(chunks[(comm.rank - step) % size], right)
        chunks[(comm.rank - step - 1) % size] = comm.recv(left)
        sending.wait()


def renames_all(comm: Any, tensor: Any) -> None:
    """The same, and in the first half too."""
    renames(comm, tensor, both=True)


def never_waits(comm: Any, tensor: Any) -> None:
    """Starts its messages and does not wait for any."""
    size, right, left = comm.size, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = _cut(tensor, size)
    for step in range(1, size):
        comm.isend(chunks[(comm.rank - step) % size], right)
        chunks[(comm.rank - step - 1) % size] += comm.recv(left)
    for step in range(size - 1):
        comm.isend(chunks[(comm.rank - step) % size], right)
        comm.recv(left, into=chunks[(comm.rank - step - 1) % size])
