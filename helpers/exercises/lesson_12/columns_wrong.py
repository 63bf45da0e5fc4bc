"""The reference of exercise 12.2, and column layers with one thing wrong."""

from __future__ import annotations

from typing import Any


def _slices(comm: Any, units: int) -> list[slice]:
    return [slice(r * units // comm.size, (r + 1) * units // comm.size) for r in range(comm.size)]


def _everybodys(comm: Any, part: Any) -> dict[int, Any]:
    """Each rank's part, by rank."""
    sending = [comm.isend(part, rank) for rank in range(comm.size) if rank != comm.rank]
    parts = {rank: comm.recv(rank) for rank in range(comm.size) if rank != comm.rank}
    for request in sending:
        request.wait()
    return {**parts, comm.rank: part}


def reference(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Slices to everybody; the ranks' parts of dx summed."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    dx = gradient[:, _slices(comm, gradient.shape[1])[comm.rank]] @ weight
    return _with(comm, x, weight, bias, all_reduce_ring(comm, dx))


def never_waits(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Starts its sends and forgets them."""
    import torch

    from helpers.algorithms.messages.collectives import all_reduce_ring

    mine = x @ weight.T + bias
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    for rank in others:
        comm.isend(mine, rank)
    parts = {comm.rank: mine, **{rank: comm.recv(rank) for rank in others}}
    y = torch.cat([parts[rank] for rank in range(comm.size)], 1)
    dx = gradient[:, _slices(comm, gradient.shape[1])[comm.rank]] @ weight
    return y, all_reduce_ring(comm, dx)


def not_gathered(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Returns its own units."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    dx = gradient[:, _slices(comm, gradient.shape[1])[comm.rank]] @ weight
    return x @ weight.T + bias, all_reduce_ring(comm, dx)


def mine_first(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Appends what comes to what it has."""
    import torch

    from helpers.algorithms.messages.collectives import all_reduce_ring

    mine = x @ weight.T + bias
    parts = _everybodys(comm, mine)
    others = [parts[rank] for rank in range(comm.size) if rank != comm.rank]
    dx = gradient[:, _slices(comm, gradient.shape[1])[comm.rank]] @ weight
    return torch.cat([mine, *others], 1), all_reduce_ring(comm, dx)


def _with(comm: Any, x: Any, weight: Any, bias: Any, dx: Any) -> Any:
    """y as it should be, beside a dx."""
    import torch

    parts = _everybodys(comm, x @ weight.T + bias)
    return torch.cat([parts[rank] for rank in range(comm.size)], 1), dx


def own_part(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Never sums dx."""
    dx = gradient[:, _slices(comm, gradient.shape[1])[comm.rank]] @ weight
    return _with(comm, x, weight, bias, dx)


def gradient_summed(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Sums the gradient of y over the ranks first, though each has all of it."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    gradient = all_reduce_ring(comm, gradient)
    dx = gradient[:, _slices(comm, gradient.shape[1])[comm.rank]] @ weight
    return _with(comm, x, weight, bias, all_reduce_ring(comm, dx))


def averaged(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Divides by the number of ranks, as for replicas."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    dx = gradient[:, _slices(comm, gradient.shape[1])[comm.rank]] @ weight
    return _with(comm, x, weight, bias, all_reduce_ring(comm, dx) / comm.size)


def from_zeros(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Writes its slice into zeros and sums the whole layer."""
    from helpers.algorithms.messages.collectives import all_reduce_naive, all_reduce_ring

    mine = _slices(comm, gradient.shape[1])[comm.rank]
    y = gradient.new_zeros(gradient.shape)
    y[:, mine] = x @ weight.T + bias
    dx = gradient[:, mine] @ weight
    return all_reduce_naive(comm, y), all_reduce_ring(comm, dx)


def into_float32(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Writes the slices of y into torch.zeros."""
    import torch

    y, dx = reference(comm, x, weight, bias, gradient)
    return torch.zeros(y.shape).copy_(y), dx


def in_place(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Puts dx where x was."""
    y, dx = reference(comm, x, weight, bias, gradient)
    return y, x.copy_(dx)


def no_bias(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Only x Wᵀ."""
    return reference(comm, x, weight, bias * 0, gradient)


def sends_weights(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Fetches everybody's weights, and works out the whole layer on every rank."""
    import torch

    weights, biases = _everybodys(comm, weight), _everybodys(comm, bias)
    whole = torch.cat([weights[rank] for rank in range(comm.size)])
    shift = torch.cat([biases[rank] for rank in range(comm.size)])
    return x @ whole.T + shift, gradient @ whole


def through_rank_0(comm: Any, x: Any, weight: Any, bias: Any, gradient: Any) -> Any:
    """Rank 0 puts y together and sends it to all."""
    import torch

    from helpers.algorithms.messages.collectives import all_reduce_ring

    mine = x @ weight.T + bias
    if comm.rank:
        comm.send(mine, 0)
        y = comm.recv(0)
    else:
        y = torch.cat([mine, *(comm.recv(rank) for rank in range(1, comm.size))], 1)
        for rank in range(1, comm.size):
            comm.send(y, rank)
    dx = gradient[:, _slices(comm, gradient.shape[1])[comm.rank]] @ weight
    return y, all_reduce_ring(comm, dx)
