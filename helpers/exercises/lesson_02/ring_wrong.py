"""Wrong answers to exercise 02.3: rings that people really write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _cut(tensor: Any, size: int) -> list[Any]:
    n = len(tensor)
    return [tensor[r * n // size : (r + 1) * n // size] for r in range(size)]


def _add(chunks: Any, i: int, got: Any) -> None:
    chunks[i].add_(got)


def _replace(chunks: Any, i: int, got: Any) -> None:
    chunks[i].copy_(got)


def _name(chunks: Any, i: int, got: Any) -> None:
    chunks[i] = got


def _name_sum(chunks: Any, i: int, got: Any) -> None:
    chunks[i] = chunks[i] + got


def _ring(
    first: Callable[..., None] = _add,
    second: Callable[..., None] = _replace,
    cut: Callable[[Any, int], Any] = _cut,
    places: Callable[[int], tuple[int, int]] = lambda step: (-step, -step - 1),
    more: int = 0,
    right: int = 1,
    starts: bool = True,
    waits: bool = True,
    turns: bool = False,
) -> Callable[..., None]:
    """A ring with something wrong about it.

    first, second: take what has come for a chunk in each half. places: of the chunks to send and to
    fill in a step of the second half, from the rank on. more: steps too many. starts: sends with
    `isend`. waits: for what it sends. turns: who has received sends.
    """

    def all_reduce_ring(comm: Any, tensor: Any) -> None:
        size, rank = comm.size, comm.rank
        chunks, steps = cut(tensor, size), size - 1 + more * (size > 1)
        ways = [(first, -step, -step - 1) for step in range(1, steps + 1)]
        ways += [(second, *places(step)) for step in range(steps)]
        for take, send, fill in ways:
            left = (rank - right) % size
            came = [comm.recv(left)] if turns and rank else []
            start = comm.isend if starts else comm.send
            sending = start(chunks[(rank + send) % size], (rank + right) % size)
            take(chunks, (rank + fill) % size, *came or [comm.recv(left)])
            if waits:
                sending.wait()

    return all_reduce_ring


adds_twice = _ring(second=_add)
renames = _ring(second=_name)
renames_all = _ring(_name_sum, _name)
torch_chunk = _ring(cut=lambda tensor, size: tensor.chunk(size))
loses_rest = _ring(cut=lambda tensor, size: _cut(tensor[: len(tensor) // size * size], size))
one_chunk_again = _ring(places=lambda step: (0, -step - 1))
as_the_first = _ring(places=lambda step: (-step - 1, -step - 2))
own_first = _ring(
    cut=lambda tensor, size: _cut(tensor, size)[1:] + _cut(tensor, size)[:1],
    places=lambda step: (-step - 1, -step - 2),
)
after_its_own = _ring(places=lambda step: (1 - step, -step))
step_too_many = _ring(more=1)
to_the_left = _ring(right=-1)
to_itself = _ring(right=0, starts=False)
all_send_first = _ring(starts=False)
never_waits = _ring(waits=False)
in_turns = _ring(turns=True)


def whole_tensors(comm: Any, tensor: Any) -> None:
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    passing = tensor.clone()
    for _ in range(comm.size - 1):
        sending = comm.isend(passing, right)
        got = comm.recv(left)
        sending.wait()
        tensor += got
        passing = got


def through_rank_0(comm: Any, tensor: Any) -> None:
    if comm.rank:
        comm.send(tensor, 0)
        comm.recv(0, into=tensor)
        return
    for other in range(1, comm.size):
        tensor += comm.recv(other)
    for other in range(1, comm.size):
        comm.send(tensor, other)


def first_half(comm: Any, tensor: Any) -> None:
    from helpers.algorithms.messages.collectives import reduce_scatter_ring

    reduce_scatter_ring(comm, tensor)


def averages(comm: Any, tensor: Any) -> None:
    _ring()(comm, tensor)
    tensor /= comm.size


def returns_new(comm: Any, tensor: Any) -> Any:
    copy = tensor.clone()
    _ring()(comm, copy)
    return copy


def nothing(comm: Any, tensor: Any) -> None:
    pass
