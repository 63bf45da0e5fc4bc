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
    from helpers.algorithms.messages.collectives import (
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
    from helpers.algorithms.messages.collectives import all_gather_ring, reduce_scatter_ring

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


def gathers_the_momentum(
    comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float
) -> None:
    """Puts the momentum together, and updates all parameters on every rank."""
    from helpers.algorithms.messages.collectives import (
        all_gather_ring,
        chunk_bounds,
        reduce_scatter_ring,
    )

    start, stop = chunk_bounds(len(p), comm.size)[comm.rank]
    momentum.mul_(beta).add_(reduce_scatter_ring(comm, gradient), alpha=1 / comm.size)
    state = p.new_empty(len(p))
    state[start:stop] = momentum
    p -= rate * all_gather_ring(comm, state)


def no_wait(comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> None:
    """Sends its slice of the parameters to everybody, and waits for nothing."""
    from helpers.algorithms.messages.collectives import chunk_bounds, reduce_scatter_ring

    bounds = chunk_bounds(len(p), comm.size)
    momentum.mul_(beta).add_(reduce_scatter_ring(comm, gradient), alpha=1 / comm.size)
    p[slice(*bounds[comm.rank])] -= rate * momentum
    others = [r for r in range(comm.size) if r != comm.rank]
    for other in others:
        comm.isend(p[slice(*bounds[comm.rank])].clone(), other)
    for other in others:
        p[slice(*bounds[other])] = comm.recv(other)


def _by_rule(comm: Any, p: Any, gradient: Any, update: Any) -> None:
    """Reduce-scatter, an update of the slice with the mean gradient, all-gather."""
    from helpers.algorithms.messages.collectives import (
        all_gather_ring,
        chunk_bounds,
        reduce_scatter_ring,
    )

    start, stop = chunk_bounds(len(p), comm.size)[comm.rank]
    update(p[start:stop], reduce_scatter_ring(comm, gradient) / comm.size)
    all_gather_ring(comm, p)


def plus(comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> None:
    """+= for -=."""

    def update(mine: Any, mean: Any) -> None:
        mine += rate * momentum.mul_(beta).add_(mean)

    _by_rule(comm, p, gradient, update)


def no_beta(comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> None:
    """Forgets β."""

    def update(mine: Any, mean: Any) -> None:
        mine -= rate * momentum.add_(mean)

    _by_rule(comm, p, gradient, update)


def moving_average(
    comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float
) -> None:
    """As Adam's first moment."""

    def update(mine: Any, mean: Any) -> None:
        mine -= rate * momentum.mul_(beta).add_((1 - beta) * mean)

    _by_rule(comm, p, gradient, update)


def rate_inside(comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> None:
    """The rate multiplies the gradient, as in older papers."""

    def update(mine: Any, mean: Any) -> None:
        mine -= momentum.mul_(beta).add_(rate * mean)

    _by_rule(comm, p, gradient, update)


def too_early(comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> None:
    """Moves the parameters first."""

    def update(mine: Any, mean: Any) -> None:
        mine -= rate * momentum
        momentum.mul_(beta).add_(mean)

    _by_rule(comm, p, gradient, update)


def by_the_gradient(
    comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float
) -> None:
    """Keeps a momentum, and does not use it."""

    def update(mine: Any, mean: Any) -> None:
        momentum.mul_(beta).add_(mean)
        mine -= rate * mean

    _by_rule(comm, p, gradient, update)


def divides_twice(
    comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float
) -> None:
    """Divides before the sum and after it."""

    def update(mine: Any, mean: Any) -> None:
        mine -= rate * momentum.mul_(beta).add_(mean / comm.size)

    _by_rule(comm, p, gradient, update)


def sum_inside(comm: Any, p: Any, gradient: Any, momentum: Any, rate: float, beta: float) -> None:
    """Divides the rate instead of the gradient."""

    def update(mine: Any, mean: Any) -> None:
        mine -= rate / comm.size * momentum.mul_(beta).add_(mean * comm.size)

    _by_rule(comm, p, gradient, update)
