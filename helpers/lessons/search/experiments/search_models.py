"""What a search trains: small networks on the digits, each a trial with settings of its own.

A trial's settings, its first weights and its batches depend on the seed and the trial's number
alone, and a trial is trained by one thread: whoever trains it, and in however many pieces, its loss
after so many steps is the same, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from helpers.lessons.data_parallel.experiments.digits import CLASSES, PIXELS, batches
from helpers.lessons.search.algorithms.ranges import Choice, LogUniform, Range, Uniform
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.algorithms.space import draw
from helpers.lessons.search.algorithms.validation import folds
from helpers.lessons.search.experiments.search_rows import Part, Parts, parts

TRIALS, LEAST, MOST, FACTOR = 27, 20, 180, 3
"""A search of the lesson: rungs of 20, 60 and 180 steps; 27 trials, of which 9 and 3 go on."""

SPACE: dict[str, Range] = {
    "rate": LogUniform(0.003, 3.0),
    "width": Choice((4, 8, 16, 32, 64)),
    "decay": LogUniform(1e-6, 1e-1),
    "momentum": Uniform(0.0, 0.95),
    "activation": Choice(("relu", "tanh", "sigmoid")),
}
ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
}
BATCH = 32
_LARGE = 1_000_003


@lru_cache(maxsize=8)
def split(seed: int = 0) -> Parts:
    """The same rows in tensors."""
    return Parts(*(Part(*map(torch.from_numpy, part)) for part in parts(seed)))


class Models:
    """Networks with one hidden layer, trained by SGD with momentum and weight decay.

    seed: of everything. given: settings of trials that somebody else chose, by trial; those of all
    others are drawn from `SPACE`. Its `train` is what a worker of a search does; it can be sent to
    another process. Raises ValueError where a name is missing or unknown.
    """

    def __init__(self, seed: int = 0, given: Mapping[int, Mapping[str, Any]] | None = None) -> None:
        self.seed = seed
        self.given = {trial: dict(each) for trial, each in (given or {}).items()}
        for each in self.given.values():
            if each.keys() != SPACE.keys():
                raise ValueError(f"A trial is made of {', '.join(SPACE)}, not {', '.join(each)}.")
        self._losses: dict[tuple[int, int], float] = {}

    def settings(self, trial: int) -> dict[str, Any]:
        """A trial's hyperparameters, by name."""
        return dict(self.given.get(trial) or draw(SPACE, trial, self.seed))

    def train(self, job: Job, state: Tensor | None = None) -> tuple[float, Tensor]:
        """Train a trial up to `job.resource` steps; its loss then, and the state to go on from.

        state: what came back from the rung before, of which `steps` are behind it; None begins
        anew, and comes to the same. Returns: the mean cross-entropy of the validation rows in nats,
        infinite where it is no number; and (1 + 2 · weights,): steps, weights and their momentum.
        """
        data = split(self.seed)
        state = self.steps(job.trial, job.resource, data.train, state)
        return self.judged(job.trial, state, data.valid), state

    def steps(self, trial: int, last: int, rows: Part, state: Tensor | None = None) -> Tensor:
        """Train on some rows until `last` steps are done; the state then, as `train` gives it."""
        given = self.settings(trial)
        with one_thread():
            network = self.network(trial, state)
            weights = list(network.parameters())
            flat = parameters_to_vector(weights).detach()  # how the weights move: at first, not
            flat = flat.mul(0) if state is None else state[1 + len(flat) :].clone()
            pieces = flat.split([weight.numel() for weight in weights])
            speeds = [piece.view_as(weight) for piece, weight in zip(pieces, weights, strict=True)]
            done = 0 if state is None else int(state[0])
            order = batches(len(rows.y), BATCH, self._number(trial))
            for step in range(last):
                batch = next(order)
                if step < done:
                    continue  # it was seen on the rung before
                chosen = rows.of(batch)
                loss = cross_entropy(network(chosen.x), chosen.y)
                slopes = torch.autograd.grad(loss, weights)
                with torch.no_grad():
                    for weight, speed, slope in zip(weights, speeds, slopes, strict=True):
                        slope = slope.add(weight, alpha=given["decay"])
                        speed.mul_(given["momentum"]).add_(slope)
                        weight.sub_(speed, alpha=given["rate"])
            steps = torch.tensor([float(max(done, last))])
            return torch.cat([steps, parameters_to_vector(weights).detach(), flat])

    def network(self, trial: int, state: Tensor | None = None) -> nn.Sequential:
        """A trial's network: with the weights of a state, or as torch starts linear layers."""
        given = self.settings(trial)
        layers = [
            nn.utils.skip_init(nn.Linear, inputs, outputs)
            for inputs, outputs in ((PIXELS, given["width"]), (given["width"], CLASSES))
        ]
        network = nn.Sequential(layers[0], ACTIVATIONS[given["activation"]](), layers[1])
        random = torch.Generator().manual_seed(self._number(trial))
        with torch.no_grad():
            for layer in layers:
                bound = layer.in_features**-0.5
                for weight in layer.parameters():
                    weight.uniform_(-bound, bound, generator=random)
        if state is not None:
            vector_to_parameters(state[1:].clone(), network.parameters())
        return network

    def judged(self, trial: int, state: Tensor, rows: Part) -> float:
        """A trained trial's mean cross-entropy over some rows, in nats; infinite if no number."""
        with one_thread(), torch.no_grad():
            loss = float(cross_entropy(self.network(trial, state)(rows.x), rows.y))
        return loss if math.isfinite(loss) else math.inf

    def right(self, trial: int, state: Tensor, part: str = "valid") -> list[bool]:
        """Whether a trained trial names each row of a part ("train", "valid", "test") rightly."""
        rows: Part = getattr(split(self.seed), part)
        with one_thread(), torch.no_grad():
            guesses = self.network(trial, state)(rows.x).argmax(1)
        return [bool(each) for each in guesses == rows.y]

    def loss(self, job: Job) -> float:
        """What `train` gives, from the start; kept, so that a clock may ask again and again."""
        key = (job.trial, job.resource)
        if key not in self._losses:
            self._losses[key] = self.train(job)[0]
        return self._losses[key]

    def cross_validated(self, trial: int, steps: int, count: int = 5) -> list[float]:
        """A trial's loss on each of so many folds, trained on the others.

        The rows are those to train on and those to choose by; the test rows stay unseen.
        """
        data = split(self.seed)
        rows = Part(*(torch.cat(pair) for pair in zip(data.train, data.valid, strict=True)))
        found = []
        for train, held in folds(len(rows.y), count, self.seed):
            state = self.steps(trial, steps, rows.of(train))
            found.append(self.judged(trial, state, rows.of(held)))
        return found

    def _number(self, trial: int) -> int:
        """A seed for each pair of seed and trial."""
        return (self.seed * _LARGE + trial) % 2**63


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute by one thread: sums in another order, as several make them, end in other bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Synthetic:
    """Losses that nobody trains for: to count promotions among thousands of trials.

    A trial has a quality of its own, standard normal; its loss after some steps is that and noise,
    half as much after four times as many steps. noise: its standard deviation after one step; with
    0 a rung says what the next one will say.
    """

    def __init__(self, seed: int = 0, noise: float = 0.0) -> None:
        self.seed, self.noise = seed, noise

    def loss(self, job: Job) -> float:
        """Depends on the seed, the trial and the resource alone."""
        quality = _normal(self.seed, job.trial, 0)
        if not self.noise:
            return quality
        return quality + self.noise / math.sqrt(job.resource) * _normal(
            self.seed, job.trial, job.resource
        )

    def train(self, job: Job, state: Tensor | None = None) -> tuple[float, Tensor]:
        """As `Models.train`: the state is how many steps are behind it."""
        return self.loss(job), torch.tensor([float(job.resource)])


@lru_cache(maxsize=1 << 16)
def _normal(seed: int, trial: int, resource: int) -> float:
    return float(np.random.default_rng([seed, trial, resource]).standard_normal())
