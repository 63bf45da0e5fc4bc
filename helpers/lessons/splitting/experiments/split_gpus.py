"""Splits on GPUs that nobody needs to have: published peaks and links, on the virtual clock.

The messages are real messages on the clock, of as many bytes as the split would send; only the
arithmetic is stood in for by `machine.seconds`, at half of the data sheet's peak. Numbers are in
bf16, two bytes each. Kernels of a rank and its sends overlap, as on GPUs with copy engines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from helpers.lessons.splitting.experiments.machines import Machine

ITEM = 2  # bytes of a number in bf16


class DenseNet(NamedTuple):
    """Square dense layers, and the rows of a batch."""

    width: int = 8192
    layers: int = 8
    rows: int = 512


class RecurrentNet(NamedTuple):
    """LSTM layers, all as wide, with the batch and its time steps.

    As many layers as in the encoder of Wu et al. (2016), section 3.3, and twice as wide.
    """

    width: int = 2048
    layers: int = 8
    rows: int = 128
    steps: int = 64
    chunks: int = 16


def product(machine: Machine, rows: float, inputs: float, outputs: float) -> float:
    """Seconds of a matrix product on the machine: its operations, or reading its numbers."""
    nbytes = ITEM * (rows * inputs + inputs * outputs + rows * outputs)
    return machine.seconds(2 * rows * inputs * outputs, nbytes)


def vertical_step(comm: Any, machine: Machine, net: DenseNet) -> float:
    """A training step of a dense network cut by columns; seconds on this rank's clock."""
    from helpers.lessons.splitting.algorithms.model_split import exchange

    slice_ = torch.zeros(ITEM * net.rows * net.width // comm.size, dtype=torch.uint8)
    one = product(machine, net.rows, net.width, net.width / comm.size)
    start = comm.time()
    for _ in range(net.layers):
        comm.compute(one)
        exchange(comm, [slice_] * comm.size, range(comm.size))
    for layer in reversed(range(net.layers)):
        comm.compute(2 * one)  # for the weights' gradient and for the inputs'
        if layer:
            exchange(comm, [slice_] * comm.size, range(comm.size))
    return float(comm.time() - start)


def wave_step(comm: Any, machine: Machine, net: RecurrentNet) -> float:
    """A training step of a deep recurrent network as a wave; seconds on this rank's clock."""
    steps = net.steps // net.chunks
    piece = torch.zeros(ITEM * steps * net.rows * net.width, dtype=torch.uint8)
    cell = product(machine, net.rows, 2 * net.width, 4 * net.width)
    chunk = cell * steps * net.layers / comm.size
    start = comm.time()
    for before, after, times in (
        (comm.rank - 1, comm.rank + 1, 1),
        (comm.rank + 1, comm.rank - 1, 2),
    ):
        sending = []
        for _ in range(net.chunks):
            if 0 <= before < comm.size:
                comm.recv(before)
            comm.compute(times * chunk)
            if 0 <= after < comm.size:
                sending.append(comm.isend(piece, after))
        for request in sending:
            request.wait()
    return float(comm.time() - start)


def speedup(
    step: Any, machine: Machine, net: Any, ranks: int, latency: float, bandwidth: float
) -> float:
    """How many times quicker `ranks` GPUs are than one, over links of this α and bandwidth."""
    import helpers

    seconds = [
        max(
            helpers.run(
                step, machine, net, ranks=n, engine="virtual", latency=latency, bandwidth=bandwidth
            )
        )
        for n in (1, ranks)
    ]
    return float(seconds[0] / seconds[1])
