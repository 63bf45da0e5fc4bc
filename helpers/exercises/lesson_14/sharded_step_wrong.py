"""The reference of exercise 14.5, and steps with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(
    comm: Any, parameters: Any, gradient: Any, momentum: Any, rate: float, beta: float
) -> None:
    """The course's own."""
    _step(comm, parameters, gradient, momentum, rate, beta)


def _step(
    comm: Any,
    parameters: Any,
    gradient: Any,
    momentum: Any,
    rate: float,
    beta: float,
    *,
    sums: str = "scatter",
    mean: bool = True,
    gather: str = "after",
) -> None:
    from helpers.algorithms.collectives import (
        all_gather_ring,
        all_reduce_ring,
        chunk_bounds,
        reduce_scatter_ring,
    )

    start, stop = chunk_bounds(len(parameters), comm.size)[comm.rank]
    if sums == "scatter":
        reduce_scatter_ring(comm, gradient)
    elif sums == "all":
        all_reduce_ring(comm, gradient)
    if gather == "before":
        all_gather_ring(comm, parameters)
    momentum.mul_(beta).add_(gradient[start:stop], alpha=1 / comm.size if mean else 1.0)
    parameters[start:stop] -= rate * momentum
    if gather == "after":
        all_gather_ring(comm, parameters)


def sums(comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> None:
    """Does not divide."""
    _step(comm, p, gradient, momentum, rate, beta, mean=False)


def by_all_reduce(
    comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float
) -> None:
    """Sums the whole gradient on every rank, as without sharding."""
    _step(comm, p, gradient, momentum, rate, beta, sums="all")


def own_gradient(comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> None:
    """Never sums the gradients."""
    _step(comm, p, gradient, momentum, rate, beta, sums="none", mean=False)


def no_gather(comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> None:
    """Leaves the other ranks' slices as they were."""
    _step(comm, p, gradient, momentum, rate, beta, gather="never")


def gathers_first(
    comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float
) -> None:
    """Gathers the parameters before the update."""
    _step(comm, p, gradient, momentum, rate, beta, gather="before")


def new_momentum(comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> None:
    """Binds the name to a new tensor."""
    _step(comm, p, gradient, momentum.clone(), rate, beta)


def floor_slices(comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> None:
    """Cuts the parameters with L // N, the last rank taking the rest."""
    from helpers.algorithms.collectives import all_gather_ring, reduce_scatter_ring

    each = len(p) // comm.size
    start = comm.rank * each
    stop = len(p) if comm.rank == comm.size - 1 else start + each
    mine = reduce_scatter_ring(comm, gradient)
    momentum.mul_(beta).add_(mine, alpha=1 / comm.size)
    p[start:stop] -= rate * momentum
    all_gather_ring(comm, p)


def into_a_copy(comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> None:
    """Updates a copy of the parameters."""
    _step(comm, p.clone(), gradient, momentum, rate, beta)
