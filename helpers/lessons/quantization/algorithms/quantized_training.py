"""A model with codes in view: prepared for calibration or training, then made one of integers.

`prepare` takes a trained model apart into layers and puts a FakeQuantize wherever codes will be
handed on; `convert` makes the integer model of what these have seen. Between the two lies either
calibration (quantized_model.quantize_static) or training, which lets weights move to where rounding
hurts less. Source: Jacob et al. (2018), section 3. Unlike there, batch norms are folded before
this training and not during it: the model has been trained already.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import linear

from helpers.lessons.quantization.algorithms.calibration import Kind
from helpers.lessons.quantization.algorithms.calibration import observer as make_observer
from helpers.lessons.quantization.algorithms.fake_quantization import (
    FakeQuantize,
    Through,
    fake_quantize,
    fake_round,
    on_grid,
)
from helpers.lessons.quantization.algorithms.folding import fold
from helpers.lessons.quantization.algorithms.integer_layers import (
    IntegerConv2d,
    IntegerLinear,
    layer_grid,
)
from helpers.lessons.quantization.algorithms.integer_pools import (
    IntegerAvgPool2d,
    IntegerMaxPool2d,
    IntegerReLU,
    Quantize,
)
from helpers.lessons.quantization.algorithms.quantization import Grid, check_bits, weight_grid

PRODUCTS = (nn.Linear, nn.Conv2d)
SHAPES = (nn.Flatten, nn.Unflatten)  # as good for codes as for floats
IDLE = (nn.Identity, nn.Dropout, nn.Dropout2d)


class FakeLayer(nn.Module):
    """A linear layer or a convolution whose weight and bias are rounded as they will be later.

    layer: the layer itself, which is trained. source: where its input was rounded; a bias counts in
    steps of the input's scale and the weight's. target: where its output will be, None behind the
    last layer.
    """

    def __init__(
        self, layer: Any, source: FakeQuantize, target: FakeQuantize | None, bits: int
    ) -> None:
        super().__init__()
        self.layer, self.source, self.target, self.bits = layer, source, target, bits

    def rounded(self) -> tuple[Tensor, Tensor | None]:
        """Weight and bias as the integer layer will have them."""
        weight, bias = self.layer.weight, self.layer.bias
        if not self.source.active:
            return weight, bias
        if not self.source.rounding:  # the input is only watched as yet: its scale is not known
            own = weight_grid(weight, self.bits)
            return on_grid(weight, own, self.source.through), bias
        x_scale = self.source.grid(weight.device).scale
        grid = layer_grid(weight, bias, x_scale, self.bits)
        if bias is not None:
            bias = fake_round(bias, x_scale * grid.scale)
        return on_grid(weight, grid, self.source.through), bias

    def forward(self, x: Tensor) -> Tensor:
        weight, bias = self.rounded()
        if isinstance(self.layer, nn.Linear):
            return linear(x, weight, bias)
        return self.layer._conv_forward(x, weight, bias)  # with its stride, padding and groups


class Again(nn.Module):
    """Rounds once more to the grid of another place: a mean of codes need not be one."""

    def __init__(self, source: FakeQuantize) -> None:
        super().__init__()
        self.source = source

    def forward(self, x: Tensor) -> Tensor:
        place = self.source
        return on_grid(x, place.grid(x.device), place.through) if place.rounding else x


def prepare(
    model: nn.Module,
    bits: int = 8,
    observer: Kind = "moving average",
    delay: int = 0,
    through: Through = fake_quantize,
) -> nn.Sequential:
    """A copy of a trained model that rounds as the integer model will; train it like any other.

    model: an nn.Sequential, of others too, of Linear and Conv2d, BatchNorm right behind them, ReLU,
    MaxPool2d, AvgPool2d, Flatten and Unflatten; Dropout is left out. Whatever stands before the
    first layer with weights, or after the last, stays in floats, so it may be anything. bits: of
    weights, and of what goes from layer to layer. observer: as calibration.observer takes it, for
    one by its name. delay: batches that are only watched before activations are rounded. through:
    as fake_quantization.on_grid takes it. Raises TypeError for a model built otherwise; `convert`
    raises ValueError for settings of a layer that have no form on codes.
    """
    check_bits(bits)
    layers = [m for m in flat(fold(model)) if not isinstance(m, IDLE)]
    places = [place for place, m in enumerate(layers) if isinstance(m, PRODUCTS)]
    if not places:
        raise TypeError(
            "This is no nn.Sequential with a linear layer or a convolution in it; "
            "quantize_dynamic takes a model of any build."
        )
    first, end = places[0], places[-1] + 1

    def new_place() -> FakeQuantize:
        return FakeQuantize(make_observer(observer, bits), bits, delay, through)

    source = new_place()
    made = [*layers[:first], source]
    for place in range(first, end - 1):  # with a place of codes wherever they change
        layer: Any = layers[place]
        if isinstance(layer, PRODUCTS):
            before, source = source, new_place()
            made.append(FakeLayer(layer, before, source, bits))
            if not isinstance(layers[place + 1], nn.ReLU):
                made.append(source)
        elif isinstance(layer, nn.ReLU) and isinstance(layers[place - 1], PRODUCTS):
            made += [layer, source]
        elif isinstance(layer, nn.AvgPool2d):
            made += [layer, Again(source)]
        elif isinstance(layer, (nn.ReLU, nn.MaxPool2d, *SHAPES)):
            made.append(layer)
        else:
            raise TypeError(
                f"{type(layer).__name__} has no form on codes between two layers: use Linear, "
                "Conv2d, ReLU, MaxPool2d, AvgPool2d, Flatten there, or quantize_dynamic, which "
                "leaves everything but products in floats."
            )
    made.append(FakeLayer(layers[end - 1], source, None, bits))
    return nn.Sequential(*made, *layers[end:]).train(model.training)


def convert(prepared: nn.Module) -> nn.Sequential:
    """The integer model of a prepared one: floats in, codes from layer to layer, floats out.

    Ranges are those that were seen. A FakeQuantize becomes part of the layer before it, and so does
    a ReLU. Raises ValueError where nothing has been seen yet.
    """
    parts = list(flat(prepared))
    if not any(isinstance(part, FakeLayer) for part in parts):
        raise TypeError("Only what prepare() has made can be converted.")
    made: list[nn.Module] = []
    grid: Grid | None = None  # of the codes that the last part hands on, None for floats
    for place, part in enumerate(parts):
        if isinstance(part, FakeLayer):
            made.append(_integer(part))
            grid = None if part.target is None else part.target.grid()
        elif isinstance(part, FakeQuantize):
            if grid is None:  # the entrance
                grid = part.grid()
                made.append(Quantize(grid))
        elif grid is None:
            made.append(copy.deepcopy(part))
        elif not isinstance(part, Again):
            made += _on_codes(part, grid, parts[place - 1])
    device = next((p.device for p in prepared.parameters()), "cpu")
    return nn.Sequential(*made).to(device).eval()


def flat(model: nn.Module) -> Iterable[nn.Module]:
    """The layers of an nn.Sequential in order, those of inner ones in their place."""
    if not isinstance(model, nn.Sequential):
        yield model
        return
    for part in model:
        yield from flat(part)


def _integer(fake: FakeLayer) -> nn.Module:
    kind: Any = IntegerLinear if isinstance(fake.layer, nn.Linear) else IntegerConv2d
    device = fake.layer.weight.device
    y_grid = None if fake.target is None else fake.target.grid(device)
    return kind(fake.layer, fake.source.grid(device), y_grid, fake.bits)


def _on_codes(part: nn.Module, grid: Grid, before: nn.Module) -> list[nn.Module]:
    """What does to codes, from the first layer to the last, what a module does to floats."""
    if isinstance(part, nn.ReLU):
        # A layer's clamp does it where the range begins at 0.
        free = isinstance(before, FakeLayer) and int(grid.zero_point) == grid.lowest
        return [] if free else [IntegerReLU(grid)]
    if isinstance(part, nn.MaxPool2d):
        return [IntegerMaxPool2d(part)]
    return [IntegerAvgPool2d(part, grid)] if isinstance(part, nn.AvgPool2d) else [part]
