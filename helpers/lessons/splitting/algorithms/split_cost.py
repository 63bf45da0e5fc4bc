"""What a split costs, counted before it is run: operations, messages, bytes, and their seconds.

    seconds = operations / rate + messages · α + bytes · β

Everything is counted on the critical path: what the slowest rank does and waits for, one after
the other. The rate, α and β are measured on the machine (or assumed, and said so). The rate is
that of the shapes that a rank is left with: half a small matrix is multiplied at less than the
whole one's rate. Source: Hockney (1994) for α and β, as in lesson 02's cost model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from helpers.lessons.messages.algorithms.collectives import chunk_bounds

ITEM = 4  # bytes of a float32
TRAINING = 3.0
"""Forward and backward in units of forward: the gradients of the inputs and of the weights."""


class Rates(NamedTuple):
    """What a machine does. flops: operations a second. alpha: seconds a message. beta: a byte."""

    flops: float
    alpha: float
    beta: float


class Work(NamedTuple):
    """What is on the critical path of a step. messages: one after the other; nbytes: of all."""

    flops: float
    messages: float = 0.0
    nbytes: float = 0.0

    def seconds(self, rates: Rates) -> float:
        """How long it takes."""
        return self.flops / rates.flops + self.messages * rates.alpha + self.nbytes * rates.beta

    def computing(self, rates: Rates) -> float:
        """The part of `seconds` that is not communication."""
        return self.flops / rates.flops


def dense_work(rows: int, widths: Sequence[int], ranks: int = 1) -> Work:
    """A dense network's training step, cut by columns: `VerticalSplit(comm, dense, "columns")`.

    widths: inputs first. A multiplication and an addition are two operations. Forward gathers
    every layer's activations, N − 1 messages to each rank; backward sends the gradients of all
    but the last. The first layer's inputs need no gradient.
    """
    products = [2.0 * rows * below * above for below, above in pairwise(widths)]
    exchanged = [*widths[1:], *widths[1:-1]]
    slices = sum(rows * width * ITEM / ranks for width in exchanged)
    flops, others = sum(products) * TRAINING - products[0], ranks - 1
    return Work(flops / ranks, others * len(exchanged), others * slices)


def recurrent_work(
    rows: int, width: int, layers: int, steps: int, ranks: int = 1, chunks: int = 1
) -> Work:
    """A deep recurrent network's training step as a wave: `Wave(comm, layers, chunks=chunks)`.

    Every layer has tanh cells and is `width` wide, as is its input. The path has chunks + ranks − 1
    turns forward and as many backward, in each of which a rank works on its layers for one chunk,
    and (with more ranks than one) passes it on.
    """
    cell = 2.0 * rows * 2 * width * width
    turns = chunks + ranks - 1
    dearest = math.ceil(layers / ranks)  # layers of a rank; the wave waits for it in every turn
    flops = cell * dearest * steps * TRAINING * turns / chunks
    if ranks == 1:
        return Work(flops)
    return Work(flops, 2 * turns, 2 * turns * rows * width * ITEM * steps / chunks)


def by_layer_work(rows: int, widths: Sequence[int], ranks: int = 1) -> Work:
    """A dense network's training step, cut by layer: one rank works at a time.

    The operations are not divided by anything; the activations at ranks − 1 cuts cross, and their
    gradients come back.
    """
    cuts = [stop for _, stop in chunk_bounds(len(widths) - 1, ranks)][:-1]
    nbytes = sum(2.0 * rows * widths[cut] * ITEM for cut in cuts)
    return Work(dense_work(rows, widths).flops, 2 * len(cuts), nbytes)
