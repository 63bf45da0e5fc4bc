"""Wrong answers to exercise 10.1: averages in 16 bits that people really write."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from helpers.algorithms.messages.collectives import all_reduce_naive, all_reduce_ring


def _half(
    first: Callable[[Any, int], Any] = lambda gradient, size: gradient.div_(size),
    cast: Callable[[Any, Any], Any] = lambda part, dtype: part.to(dtype),
    reduce: Callable[[Any, Any], Any] = all_reduce_ring,
    back: Callable[[Any, Any, int], Any] = lambda gradient, half, size: gradient.copy_(half),
) -> Callable[..., Any]:
    """The reference with a part exchanged: what is done before the cast, and with the sum."""

    def average_half(comm: Any, gradient: Any, dtype: Any) -> Any:
        half = cast(first(gradient, comm.size), dtype)
        reduce(comm, half)
        return back(gradient, half, comm.size)

    return average_half


def _never_waits(comm: Any, half: Any) -> None:
    bounds = pairwise(rank * half.numel() // comm.size for rank in range(comm.size + 1))
    chunks = [half.view(-1)[start:stop] for start, stop in bounds]
    for step in range(2 * comm.size - 2):
        comm.isend(chunks[(comm.rank - step) % comm.size], (comm.rank + 1) % comm.size)
        chunk = chunks[(comm.rank - step - 1) % comm.size]
        came = comm.recv((comm.rank - 1) % comm.size)
        chunk.copy_(chunk + came if step < comm.size - 1 else came)


nothing = _half(reduce=lambda comm, half: None)
no_division = _half(lambda gradient, size: gradient)
divides_twice = _half(back=lambda gradient, half, size: gradient.copy_(half).div_(size))
divides_after = _half(
    lambda gradient, size: gradient,
    back=lambda gradient, half, size: gradient.copy_(half).div_(size),
)
adds = _half(back=lambda gradient, half, size: gradient.add_(half))
not_back = _half(back=lambda gradient, half, size: None)
returns_new = _half(back=lambda gradient, half, size: half.to(gradient.dtype))
in_its_type = _half(cast=lambda part, dtype: part)
in_float32 = _half(cast=lambda part, dtype: part.to(dtype).float())
reinterpreted = _half(cast=lambda part, dtype: part.view(dtype), back=lambda *given: None)
always_bf16 = _half(cast=lambda part, dtype: part.bfloat16())
always_fp16 = _half(cast=lambda part, dtype: part.half())
through_rank_0 = _half(reduce=all_reduce_naive)
never_waits = _half(reduce=_never_waits)


def divides_in_half(comm: Any, gradient: Any, dtype: Any) -> None:
    half = gradient.to(dtype).div_(comm.size)
    gradient.copy_(all_reduce_ring(comm, half))


def keeps_its_own(comm: Any, gradient: Any, dtype: Any) -> None:
    """Adds what the others gave to its own part, which it has not rounded."""
    own = gradient.div_(comm.size).to(dtype)
    gradient += all_reduce_ring(comm, own.clone()).double() - own.double()
