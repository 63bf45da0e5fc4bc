"""What workers train on: gradients of a small network on the digits, of many workers at once.

A task gives flat weights, the rows of each worker's batches and the gradient of the mean loss. The
network's backward is written out, so that the gradients of a hundred workers, each at weights of
its own, are one batched product of matrices. The rows may also be dealt out to the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional

from helpers.lessons.data_parallel.experiments.digits import CLASSES, PIXELS, Digits, digits
from helpers.lessons.data_parallel.experiments.models import mlp


class DigitsTask:
    """A network of linear layers with ReLU, trained on the digits with cross-entropy.

    widths: of the layers. seed: of the initial weights and of all workers' batches. A worker goes
    through all training rows in an order of its own, then through another. data: other pictures.
    """

    def __init__(
        self,
        widths: Sequence[int] = (PIXELS, 128, 64, CLASSES),
        dtype: torch.dtype = torch.float32,
        seed: int = 0,
        data: Digits | None = None,
    ) -> None:
        self.widths, self.seed, self.dtype = tuple(widths), seed, dtype
        self.data = digits(dtype) if data is None else data
        self._wanted = functional.one_hot(self.data.train_y, self.widths[-1]).to(dtype)
        self._orders: dict[int, tuple[int, Tensor]] = {}

    def initial(self) -> Tensor:
        """The weights that training starts from, as torch starts linear layers: [W₁, b₁, W₂, …]."""
        model = mlp(self.widths, self.dtype, self.seed)
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    def rows(self, worker: int, step: int, batch: int) -> Tensor:
        """Batch number `step` of a worker; what fills no batch at an epoch's end is left out."""
        total = len(self.data.train_x)
        if not 1 <= batch <= total:
            raise ValueError(f"A batch has 1 to {total} rows, not {batch}.")
        epoch, place = divmod(step, total // batch)
        known = self._orders.get(worker)
        if known is None or known[0] != epoch:
            random = torch.Generator()
            seed = ((self.seed + 1) * 1_000_003 + worker) * 1_000_003 + epoch
            random.manual_seed(seed % 2**63)  # torch takes no more
            known = self._orders[worker] = (epoch, torch.randperm(total, generator=random))
        return known[1][place * batch : (place + 1) * batch]

    def gradient(self, weights: Tensor, rows: Tensor) -> Tensor:
        """The gradient of the mean loss over these rows, (weights,)."""
        return self.gradients(weights[None], rows[None])[0]

    def gradients(self, weights: Tensor, rows: Tensor) -> Tensor:
        """Many at once: weights (n, weights), rows (n, batch). Returns: (n, weights)."""
        layers = self._layers(weights)
        inputs = [self.data.train_x[rows]]
        for number, (matrix, bias) in enumerate(layers):
            out = torch.baddbmm(bias, inputs[-1], matrix.mT)
            inputs.append(out.relu_() if number < len(layers) - 1 else out)
        slope = functional.softmax(inputs.pop(), dim=-1)
        slope -= self._wanted[rows]
        slope /= rows.shape[1]
        found: list[Tensor] = []
        for number in reversed(range(len(layers))):
            found[:0] = [torch.bmm(slope.mT, inputs[number]).flatten(1), slope.sum(1)]
            if number:
                slope = torch.bmm(slope, layers[number][0])
                slope *= inputs[number] > 0
        return torch.cat(found, dim=1)

    def error(self, weights: Tensor) -> float:
        """The test error in %; 100 where the weights are no longer numbers."""
        guesses = self._outputs(weights, self.data.test_x)
        if not torch.isfinite(guesses).all():
            return 100.0
        return 100 * (guesses.argmax(-1) != self.data.test_y).double().mean().item()

    def loss(self, weights: Tensor) -> float:
        """The mean cross-entropy over all training rows, in nats."""
        outputs = self._outputs(weights, self.data.train_x)
        return functional.cross_entropy(outputs, self.data.train_y).item()

    def _outputs(self, weights: Tensor, inputs: Tensor) -> Tensor:
        layers = self._layers(weights[None])
        for number, (matrix, bias) in enumerate(layers):
            inputs = functional.relu(inputs) if number else inputs
            inputs = inputs @ matrix[0].T + bias[0]
        return inputs

    def _layers(self, weights: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Each layer's matrix (n, outputs, inputs) and bias (n, 1, outputs), as views."""
        layers, start = [], 0
        for inputs, outputs in pairwise(self.widths):
            middle, end = start + inputs * outputs, start + (inputs + 1) * outputs
            matrix = weights[:, start:middle].unflatten(1, (outputs, inputs))
            layers.append((matrix, weights[:, middle:end].unsqueeze(1)))
            start = end
        return layers


class ShardedDigits(DigitsTask):
    """The digits task where a worker sees only its own part of the training rows.

    workers: how many parts. by_digit: the rows are sorted before they are cut, so that a worker
    knows one or two digits only; otherwise they are mixed. A batch is drawn from the part.
    widths: of the network's layers.
    """

    def __init__(
        self,
        workers: int,
        by_digit: bool = False,
        seed: int = 0,
        widths: Sequence[int] = (PIXELS, 128, 64, CLASSES),
    ) -> None:
        super().__init__(widths, seed=seed)
        if workers < 1:
            raise ValueError(f"The rows are dealt to at least one worker, not {workers}.")
        order = torch.argsort(self.data.train_y, stable=True)
        if workers > len(order):
            raise ValueError(f"{len(order)} rows cannot be dealt to {workers} workers.")
        if not by_digit:
            random = torch.Generator().manual_seed(seed)
            order = torch.randperm(len(order), generator=random)
        ends = [len(order) * number // workers for number in range(workers + 1)]
        self.parts = [order[ends[w] : ends[w + 1]] for w in range(workers)]

    def rows(self, worker: int, step: int, batch: int) -> Tensor:
        """A worker's batch at a step, drawn from its own rows; the same whenever asked."""
        if not 0 <= worker < len(self.parts):
            raise ValueError(
                f"Worker {worker} has no rows: they were dealt to {len(self.parts)} workers."
            )
        mine = self.parts[worker]
        seed = (self.seed * 10_007 + worker) * 1_000_003 + step
        random = torch.Generator().manual_seed(seed % 2**63)
        return mine[torch.randint(len(mine), (batch,), generator=random)]
