"""Tensor parallelism: each rank holds some columns or rows of every matrix of a Transformer block.

y = act(x A) B is cut so that the ranks exchange once: A by columns, so that every rank has whole
columns of x A and the activation works on them alone; B by the same rows, so that each rank has a
term of a sum, y = Σ act(x Aᵣ) Bᵣ. Attention is cut in the same way, by whole heads.
Two functions that are each other's mirror image carry it through backward: f (`copy_to_ranks`) does
nothing forward and sums gradients backward, g (`sum_over_ranks`) sums forward and does nothing
backward. A block then costs two all-reduces forward and two backward, of rows · width each.

What every rank has whole (norms, biases that are added after a sum, x itself) has the same value
and the same gradient on all ranks, because what flows into it is the same.
Source: Shoeybi et al., "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model
Parallelism" (2019), section 3. torch keeps a linear layer's weight as (outputs, inputs), so the
columns of A are the rows of `weight`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter, functional

from helpers.lessons.data_parallel.algorithms.data_parallel import broadcast_parameters
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, chunk_bounds

if TYPE_CHECKING:
    from helpers.engine.comm import Comm
    from helpers.lessons.bandwidth.algorithms.mesh import Group

    Ranks = Comm | Group
Reduce = Callable[[Any, Tensor], Any]
"""Sums a tensor over the ranks, in place: `reduce(comm, tensor)`."""
Exchange = Callable[[Tensor], Tensor]
Pair = Callable[[Any], tuple[Exchange, Exchange]]
"""Makes f and g for some ranks: `pair(comm)`."""


class _Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, comm: Ranks, x: Tensor, reduce: Reduce) -> Tensor:
        ctx.comm, ctx.reduce = comm, reduce
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        # A copy: autograd may give the same gradient to somebody else.
        total = gradients[0].clone(memory_format=torch.contiguous_format)
        ctx.reduce(ctx.comm, total)
        return None, total, None


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, comm: Ranks, x: Tensor, reduce: Reduce) -> Tensor:
        total = x.clone(memory_format=torch.contiguous_format)
        reduce(comm, total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, gradients[0], None


def copy_to_ranks(comm: Ranks, x: Tensor, reduce: Reduce = all_reduce_ring) -> Tensor:
    """f: x as it is, the same on every rank; backward, its gradients are summed over the ranks.

    Each rank computes with its own columns, so each has a part of x's gradient only. Every rank
    has to use the result in what it differentiates, or the others wait for its gradient.
    """
    if comm.size == 1:
        return x
    result: Tensor = _Copy.apply(comm, x, reduce)
    return result


def sum_over_ranks(comm: Ranks, x: Tensor, reduce: Reduce = all_reduce_ring) -> Tensor:
    """g: the sum of every rank's x, on every rank; backward, the gradient as it is.

    Each rank's x enters the sum once, with factor 1, and all ranks go on alike from the sum, so
    its gradient is already the same everywhere: summing it would make it N times too large.
    """
    if comm.size == 1:
        return x
    result: Tensor = _Sum.apply(comm, x, reduce)
    return result


def f_and_g(comm: Ranks, reduce: Reduce = all_reduce_ring) -> tuple[Exchange, Exchange]:
    """f and g of these ranks, each from tensor to tensor. reduce: sums in place."""
    return partial(copy_to_ranks, comm, reduce=reduce), partial(sum_over_ranks, comm, reduce=reduce)


def part_of(parameter: Tensor, start: int, stop: int, dim: int = 0) -> Parameter:
    """A copy of a slice of a parameter as one of its own; frozen where the whole one is."""
    held = parameter.detach().narrow(dim, start, stop - start)
    return Parameter(held.clone(memory_format=torch.contiguous_format), parameter.requires_grad)


class ColumnLinear(nn.Module):
    """Some outputs of a linear layer: (…, inputs), the same on all ranks, to (…, outputs here).

    dense: the whole layer, the same on every rank. unit: outputs that stay together, such as those
    of a head. Parts differ by one unit at most, and some are empty where there are fewer units than
    ranks. weight: (outputs here, inputs). bias: (outputs here) or None.
    """

    def __init__(self, dense: nn.Linear, comm: Ranks, unit: int = 1, pair: Pair = f_and_g) -> None:
        super().__init__()
        self.f, _ = pair(comm)
        start, stop = _bounds(dense.out_features, unit, comm)
        self.weight = part_of(dense.weight, start, stop)
        self.bias = None if dense.bias is None else part_of(dense.bias, start, stop)

    def forward(self, x: Tensor) -> Tensor:
        return self.local(self.f(x))

    def local(self, x: Tensor) -> Tensor:
        """The layer without f, for an x that several layers share and f was applied to."""
        return functional.linear(x, self.weight, self.bias)


class RowLinear(nn.Module):
    """Some inputs of a linear layer: (…, inputs here) to (…, outputs), the same on all ranks.

    Cut as `ColumnLinear` cuts the layer before it. weight: (outputs, inputs here). bias: (outputs)
    or None, whole on every rank and added after the sum: before it, it would be added N times.
    """

    def __init__(self, dense: nn.Linear, comm: Ranks, unit: int = 1, pair: Pair = f_and_g) -> None:
        super().__init__()
        _, self.g = pair(comm)
        start, stop = _bounds(dense.in_features, unit, comm)
        self.weight = part_of(dense.weight, start, stop, dim=1)
        self.bias = None if dense.bias is None else part_of(dense.bias, 0, dense.out_features)

    def forward(self, x: Tensor) -> Tensor:
        total = self.g(functional.linear(x, self.weight))
        return total if self.bias is None else total + self.bias


def _bounds(length: int, unit: int, comm: Ranks) -> tuple[int, int]:
    start, stop = chunk_bounds(length // unit, comm.size)[comm.rank]
    return start * unit, stop * unit


class ParallelMlp(nn.Module):
    """Some hidden units of an MLP: (…, width), the same on all ranks, to the same shape.

    dense: an MLP with two linear layers `up` and `down`, and GELU between them.
    """

    def __init__(self, dense: Any, comm: Ranks, pair: Pair = f_and_g) -> None:
        super().__init__()
        self.up = ColumnLinear(dense.up, comm, pair=pair)
        self.down = RowLinear(dense.down, comm, pair=pair)

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.down(functional.gelu(self.up(x))))


class ParallelAttention(nn.Module):
    """Some heads of causal self-attention: (rows, length, width) to the same shape.

    dense: has `heads` and linear layers `query`, `key`, `value` and `out`. heads: how many this
    rank has; it may be none. size: the width of a head.
    """

    def __init__(self, dense: Any, comm: Ranks, pair: Pair = f_and_g) -> None:
        super().__init__()
        self.size = dense.query.out_features // dense.heads
        self.query = ColumnLinear(dense.query, comm, self.size, pair)
        self.key = ColumnLinear(dense.key, comm, self.size, pair)
        self.value = ColumnLinear(dense.value, comm, self.size, pair)
        self.out = RowLinear(dense.out, comm, self.size, pair)
        self.heads = len(self.query.weight) // self.size

    def forward(self, x: Tensor) -> Tensor:
        x = self.query.f(x)  # one f for the three
        mixed = self.attend(self.query.local(x), self.key.local(x), self.value.local(x))
        return torch.as_tensor(self.out(mixed))

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Softmax(q kᵀ / √size) v for this rank's heads, no position seeing a later one."""
        rows, length, width = query.shape
        shape = (rows, length, self.heads, self.size)
        q, k, v = (t.view(shape).transpose(1, 2) for t in (query, key, value))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return mixed.transpose(1, 2).reshape(rows, length, width)


class ParallelBlock(nn.Module):
    """A pre-norm Transformer block: two all-reduces forward and two backward.

    block: a dense one with `first`, `attention`, `second` and `mlp`, whose names the parts have.
    """

    def __init__(self, block: Any, comm: Ranks, pair: Pair = f_and_g) -> None:
        super().__init__()
        self.first, self.second = copy.deepcopy(block.first), copy.deepcopy(block.second)
        self.attention = ParallelAttention(block.attention, comm, pair)
        self.mlp = ParallelMlp(block.mlp, comm, pair)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.first(x))
        return x + torch.as_tensor(self.mlp(self.second(x)))


def parallel_block(
    block: Any, comm: Ranks, pair: Pair = f_and_g, *, broadcast: bool = True
) -> ParallelBlock:
    """This rank's part of a dense block with `first`, `attention`, `second` and `mlp`.

    pair: makes f and g, as somebody else has written them.
    broadcast: give every rank rank 0's parameters first (this changes `block`), so that the parts
    fit together whatever each rank began with. The parts' names are those of the dense block.
    """
    if broadcast:
        broadcast_parameters(block, comm)  # type: ignore[arg-type]
    made = ParallelBlock(block, comm, pair)
    tie_as(block, made)
    return made


def tie_as(dense: nn.Module, made: nn.Module) -> None:
    """Let parameters of `made` be one where those of these names are one in `dense`.

    Raises ValueError where the two uses are cut differently, so that no part serves both.
    """
    first: dict[int, Parameter] = {}
    for name, whole in dense.named_parameters(remove_duplicate=False):
        owner, _, attribute = name.rpartition(".")
        module = made.get_submodule(owner)
        part = getattr(module, attribute)
        kept = first.setdefault(id(whole), part)
        if kept.shape != part.shape:
            raise ValueError(
                f"{name} is tied to a weight that is cut in another way: its part is "
                f"{tuple(part.shape)} here, that one's {tuple(kept.shape)}. Untie them, or cut "
                "both alike."
            )
        setattr(module, attribute, kept)
