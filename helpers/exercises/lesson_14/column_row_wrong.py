"""The reference of exercise 14.1, and MLPs that were cut with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """The course's own."""
    from torch.nn import functional

    from helpers.algorithms.messages.collectives import chunk_bounds
    from helpers.algorithms.splitting.tensor_parallel import sum_over_ranks

    start, stop = chunk_bounds(len(up), comm.size)[comm.rank]
    hidden = functional.gelu(functional.linear(x, up[start:stop], up_bias[start:stop]))
    return sum_over_ranks(comm, functional.linear(hidden, down[:, start:stop])) + down_bias


def _term(
    comm: Any, x: Any, up: Any, up_bias: Any, down: Any, *, bounds: tuple[int, int] | None = None
) -> Any:
    """This rank's term of the sum."""
    from torch.nn import functional

    n, hidden = comm.size, len(up)
    start, stop = bounds or (comm.rank * hidden // n, (comm.rank + 1) * hidden // n)
    mine = functional.gelu(x @ up[start:stop].T + up_bias[start:stop])
    return mine @ down[:, start:stop].T


def bias_on_every_rank(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Adds the bias to its term, as a dense layer would."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    return all_reduce_ring(comm, _term(comm, x, up, up_bias, down) + down_bias)


def no_bias(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Forgets the second bias."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    return all_reduce_ring(comm, _term(comm, x, up, up_bias, down))


def own_term(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Never sums."""
    return _term(comm, x, up, up_bias, down) + down_bias


def averages(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Divides by the number of ranks, as for gradients."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    return all_reduce_ring(comm, _term(comm, x, up, up_bias, down)) / comm.size + down_bias


def loses_the_remainder(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Cuts with H // N."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    each = len(up) // comm.size
    bounds = (comm.rank * each, (comm.rank + 1) * each)
    return all_reduce_ring(comm, _term(comm, x, up, up_bias, down, bounds=bounds)) + down_bias


def rest_on_the_last(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Cuts with H // N, and the last rank takes what is left."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    each = len(up) // comm.size
    stop = len(up) if comm.rank == comm.size - 1 else (comm.rank + 1) * each
    term = _term(comm, x, up, up_bias, down, bounds=(comm.rank * each, stop))
    return all_reduce_ring(comm, term) + down_bias


def rest_on_the_first(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Cuts as tensor_split does: the first ranks have one more."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    each, more = divmod(len(up), comm.size)
    start = comm.rank * each + min(comm.rank, more)
    stop = start + each + (comm.rank < more)
    return (
        all_reduce_ring(comm, _term(comm, x, up, up_bias, down, bounds=(start, stop))) + down_bias
    )


def relu(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """ReLU in the place of GELU."""
    from helpers.algorithms.messages.collectives import all_reduce_ring, chunk_bounds

    start, stop = chunk_bounds(len(up), comm.size)[comm.rank]
    hidden = (x @ up[start:stop].T + up_bias[start:stop]).relu()
    return all_reduce_ring(comm, hidden @ down[:, start:stop].T) + down_bias


def two_sums(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Puts the hidden units together, and multiplies its own of them."""
    from torch.nn import functional

    from helpers.algorithms.messages.collectives import all_reduce_ring, chunk_bounds

    start, stop = chunk_bounds(len(up), comm.size)[comm.rank]
    units = x.new_zeros(len(x), len(up))
    units[:, start:stop] = functional.gelu(x @ up[start:stop].T + up_bias[start:stop])
    all_reduce_ring(comm, units)
    return all_reduce_ring(comm, units[:, start:stop] @ down[:, start:stop].T) + down_bias


def everything(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Computes the dense MLP on every rank."""
    from torch.nn import functional

    return functional.gelu(x @ up.T + up_bias) @ down.T + down_bias


def wrong_side(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Takes the columns of the stored weight, whose rows are the hidden units."""
    from torch.nn import functional

    from helpers.algorithms.messages.collectives import all_reduce_ring

    n, hidden = comm.size, len(up)
    start, stop = comm.rank * hidden // n, (comm.rank + 1) * hidden // n
    mine = functional.gelu(x @ up[:, start:stop].T + up_bias)
    return all_reduce_ring(comm, mine @ down[start:stop].T) + down_bias


def rows_first(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Cuts x and `up` along the inputs, and applies GELU to a part of the sum."""
    from torch.nn import functional

    from helpers.algorithms.messages.collectives import all_reduce_ring

    n, width = comm.size, x.shape[1]
    part = slice(comm.rank * width // n, (comm.rank + 1) * width // n)
    mine = functional.gelu(x[:, part] @ up[:, part].T + up_bias)
    return all_reduce_ring(comm, mine @ down.T) + down_bias


def gathers(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Puts the hidden units together, then multiplies by the whole second matrix."""
    from torch.nn import functional

    from helpers.algorithms.messages.collectives import all_reduce_ring

    n, hidden = comm.size, len(up)
    start, stop = comm.rank * hidden // n, (comm.rank + 1) * hidden // n
    units = x.new_zeros(len(x), hidden)
    units[:, start:stop] = functional.gelu(x @ up[start:stop].T + up_bias[start:stop])
    return all_reduce_ring(comm, units) @ down.T + down_bias


def for_rank_0(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Reduces to rank 0."""
    from helpers.algorithms.messages.collectives import reduce_naive

    return reduce_naive(comm, _term(comm, x, up, up_bias, down)) + down_bias


def stays_away(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """A rank without hidden units does not come to the sum."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    n, hidden = comm.size, len(up)
    if comm.rank * hidden // n == (comm.rank + 1) * hidden // n:
        return down_bias.expand(len(x), -1)
    return all_reduce_ring(comm, _term(comm, x, up, up_bias, down)) + down_bias


def no_up_bias(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Forgets the first bias."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    return all_reduce_ring(comm, _term(comm, x, up, 0 * up_bias, down)) + down_bias


def cuts_the_inputs(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Cuts `up` by inputs, and sums before GELU."""
    from torch.nn import functional

    from helpers.algorithms.messages.collectives import all_reduce_ring

    n, width = comm.size, x.shape[1]
    part = slice(comm.rank * width // n, (comm.rank + 1) * width // n)
    units = all_reduce_ring(comm, x[:, part] @ up[:, part].T)
    return functional.gelu(units + up_bias) @ down.T + down_bias


def clears_the_bias(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Sets the bias to zero on all ranks but one, so that it is summed once."""
    from helpers.algorithms.messages.collectives import all_reduce_ring

    if comm.rank:
        down_bias.zero_()
    return all_reduce_ring(comm, _term(comm, x, up, up_bias, down) + down_bias)


def no_wait(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    """Sends its term to everybody, and waits for none of the messages."""
    term = _term(comm, x, up, up_bias, down)
    others = [r for r in range(comm.size) if r != comm.rank]
    for other in others:
        comm.isend(term, other)
    total = term.clone()
    for other in others:
        total += comm.recv(other)
    return total + down_bias
