"""Trained models that shall become small without losing what they know: patients, and their care.

Two of them read the digits: a network of convolutions as phones run them, and a deep recurrent one
that reads a digit row by row. What a treatment costs is counted in digits of the test set. Source
of the first one's layers: Chollet, "Xception: Deep Learning with Depthwise Separable Convolutions"
(2017), whose depthwise and pointwise convolutions have nothing between them (section 4.7).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from helpers.lessons.data_parallel.experiments.digits import CLASSES, batches, digits
from helpers.lessons.quantization.algorithms.calibration import MovingAverage
from helpers.lessons.quantization.algorithms.fake_quantization import Through, fake_quantize
from helpers.lessons.quantization.algorithms.folding import NORMS
from helpers.lessons.quantization.algorithms.quantized_training import PRODUCTS, flat, prepare

TEST = 0.4  # of the digits: 719 of them, so that a percentage point is seven pictures
ROWS = 64  # of a batch
RATE = 4e-3  # the highest learning rate
SIDE = 8  # pixels
SPREAD = 2.0  # batch norms begin with factors from 2^−2 to 2^2
SOFTNESS = 3.0  # scores are divided by it where one model learns from another
THROUGH = (nn.ReLU, nn.MaxPool2d, nn.AvgPool2d, nn.Flatten)  # commute with a positive factor

Model = Callable[[Tensor], Tensor]
Trained = TypeVar("Trained", bound=nn.Module)


@dataclass(frozen=True, eq=False)
class Patient:
    """A trained model, in eval mode, with what it was trained on and what it is tested on.

    train_x, test_x: pictures (rows, 64), pixels from 0 to 1. train_y, test_y: (rows,), 0 to 9.
    """

    model: nn.Module
    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor

    def calibration(self, rows: int = 256) -> list[Tensor]:
        """Batches of so many training pictures, 64 in each, to find ranges with."""
        return list(self.train_x[:rows].split(ROWS))


class Reader(nn.Module):
    """Reads a digit from the top row of pixels to the last, and then says which one it was.

    (rows, 64) to (rows, 10).
    """

    def __init__(self, hidden: int = 144, layers: int = 3) -> None:
        super().__init__()
        self.recurrent = nn.GRU(SIDE, hidden, num_layers=layers, batch_first=True)
        self.head = nn.Linear(hidden, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        """x: pictures, (rows, 64). Returns scores, (rows, 10)."""
        outputs, _ = self.recurrent(x.view(-1, SIDE, SIDE))
        return torch.as_tensor(self.head(outputs[:, -1]))


def separable() -> Patient:
    """Depthwise separable convolutions with batch norms, and two linear layers: 290 000 weights.

    Its batch norms begin with factors that are up to 16 times apart, so that channels differ in
    range and 4 bits hurt. How far apart was chosen on the test digits of five seeds: what a
    treatment costs this patient is an illustration, not an estimate. Trained within seconds, once
    in a process.
    """
    return _fresh(_trained(_separable))


def reader() -> Patient:
    """A `Reader` of three layers of gated recurrent units: 319 000 weights. Trained likewise."""
    return _fresh(_trained(Reader))


def accuracy(model: Model, patient: Patient) -> float:
    """The part of the test set, from 0 to 1, of which a model says rightly what it shows."""
    return float((classes(model, patient.test_x) == patient.test_y).double().mean())


def agreement(one: Model, other: Model, patient: Patient) -> float:
    """The part of the test set, from 0 to 1, that two models say the same of."""
    said = [classes(model, patient.test_x) for model in (one, other)]
    return float((said[0] == said[1]).double().mean())


def classes(model: Model, x: Tensor) -> Tensor:
    """The class with the highest score for each picture."""
    with torch.no_grad():
        return model(x).argmax(1)


class Trimmed(MovingAverage):
    """The averaged ends of batches, a hundredth of a batch left out at either end.

    At 4 bits a step is so wide that the few largest values are not worth it.
    """

    def _take(self, batch: Tensor) -> None:
        some = batch.flatten()[::7]  # they are enough
        ends = len(some) // 100 + 1
        low = some.topk(ends, largest=False, sorted=False).values.max()
        super()._take(torch.stack([low, some.topk(ends, sorted=False).values.min()]))


def train_rounded(
    patient: Patient, bits: int = 4, epochs: int = 16, through: Through = fake_quantize
) -> nn.Sequential:
    """The patient's model trained on with its numbers rounded, in eval mode: give it to convert().

    It learns to say what the model says without rounding, doubts included, which tells more than
    the right answer alone (Hinton, Vinyals and Dean, "Distilling the Knowledge in a Neural
    Network", 2015). bits: of weights, and of what goes from layer to layer. In the first epoch
    activations are only watched. through: as `prepare` takes it. The patient's own model stays as
    it is.
    """
    steps = len(patient.train_x) // ROWS
    prepared = prepare(
        patient.model, bits, lambda bits: Trimmed(bits=bits), delay=steps, through=through
    )
    with torch.no_grad():
        wanted = (patient.model(patient.train_x) / SOFTNESS).softmax(1)

    def loss(scores: Tensor, chosen: Tensor) -> Tensor:
        return cross_entropy(scores / SOFTNESS, wanted[chosen])

    return _train(prepared, patient.train_x, loss, epochs)


def _separable() -> nn.Module:
    model = nn.Sequential(
        nn.Unflatten(1, (1, SIDE, SIDE)),
        *_with_norm(nn.Conv2d(1, 32, 3, padding=1, bias=False)),
        nn.AvgPool2d(2),
        *_block(32, 32),
        *_block(32, 64),
        *_block(64, 64),
        *_block(64, 64),
        *_block(64, 64),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(4 * 64, 1024),
        nn.ReLU(),
        nn.Linear(1024, CLASSES),
    )
    for norm in model:
        if isinstance(norm, nn.BatchNorm2d):
            powers = torch.empty_like(norm.weight).uniform_(-SPREAD, SPREAD)
            norm.weight = nn.Parameter(powers.exp2())
    return model


def _block(channels: int, out: int) -> list[nn.Module]:
    """Each channel for itself in 3 × 3 pixels, and then all channels of each pixel."""
    along = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)
    return [along, *_with_norm(nn.Conv2d(channels, out, 1, bias=False))]


def _with_norm(conv: nn.Conv2d) -> list[nn.Module]:
    return [conv, nn.BatchNorm2d(conv.out_channels), nn.ReLU()]


@lru_cache
def _trained(build: Callable[[], nn.Module]) -> Patient:
    """A model with the weights of seed 0, trained on the digits that this seed leaves for it."""
    data = digits(test=TEST)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)  # a GPU's stays as it is
        model = build()

    def loss(scores: Tensor, chosen: Tensor) -> Tensor:
        return cross_entropy(scores, data.train_y[chosen])

    return Patient(_train(model, data.train_x, loss, epochs=16), *data)


def _train(
    model: Trained, x: Tensor, loss: Callable[[Tensor, Tensor], Tensor], epochs: int
) -> Trained:
    """Adam, its rate rising at first and then falling to 0. Returns the model in eval mode.

    loss: of the scores of some rows of x, and the numbers of these rows.
    """
    steps = epochs * (len(x) // ROWS)
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    order = batches(len(x), ROWS)
    model.train()
    for _ in range(steps):
        chosen = next(order)
        optimizer.zero_grad()
        loss(model(x[chosen]), chosen).backward()
        optimizer.step()
        schedule.step()
    return model.eval()


def _fresh(patient: Patient) -> Patient:
    """The same patient with a model of its own, which may be changed."""
    return replace(patient, model=copy.deepcopy(patient.model))


# --- what upsets ranges: one picture, or one channel, far larger than all others ------------------


def wild_picture(batches: Sequence[Tensor]) -> list[Tensor]:
    """Copies of batches in which the numbers of the first picture of all are 255 times as large.

    As if nobody had divided its pixels, from 0 to 255, before calibration saw them.
    """
    copies = [batch.clone() for batch in batches]
    copies[0][0] *= 255
    return copies


def wild_channel(model: nn.Module, factor: float) -> nn.Sequential:
    """A model of equal outputs, in eval mode, with one wild channel in each layer but the last.

    The channel of the largest weights becomes `factor` times larger, and what the next layer makes
    of it as many times smaller: ReLU and pooling hand a positive factor on. model: an
    nn.Sequential, of others too. Raises TypeError where anything else stands between two layers
    with weights.
    """
    layers = list(flat(copy.deepcopy(model).eval()))
    places = [place for place, layer in enumerate(layers) if isinstance(layer, PRODUCTS)]
    for place, following in pairwise(places):
        between = layers[place + 1 : following]
        norm = between.pop(0) if between and isinstance(between[0], NORMS) else None
        if not all(isinstance(layer, THROUGH) for layer in between):
            raise TypeError(
                "A wild channel needs nothing but a batch norm, ReLU, pooling and Flatten between "
                "two layers with weights."
            )
        _exchange(layers[place], norm, layers[following], factor)
    return nn.Sequential(*layers)


@torch.no_grad()
def _exchange(layer: Any, norm: Any, following: Any, factor: float) -> None:
    """Make a layer's output channel larger, and its share in the next layer smaller."""
    magnitudes = layer.weight.flatten(1).abs().amax(1)
    if norm is not None:
        magnitudes = magnitudes * (norm.weight * torch.rsqrt(norm.running_var + norm.eps)).abs()
    channel = int(magnitudes.argmax())
    last = layer if norm is None else norm  # scales the channel last of all
    last.weight[channel] *= factor
    if last.bias is not None:
        last.bias[channel] *= factor
    weight = following.weight
    if isinstance(following, nn.Linear):
        pixels = weight.shape[1] // len(magnitudes)  # of each channel, where a Flatten was between
        weight[:, channel * pixels : (channel + 1) * pixels] /= factor
        return
    of_group, outputs = weight.shape[1], len(weight) // following.groups
    group, place = divmod(channel, of_group)
    weight[group * outputs : (group + 1) * outputs, place] /= factor
