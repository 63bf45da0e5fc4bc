"""A trained model made small: with static ranges, with ranges as they come, or its weights only.

All three return a copy and leave the model as it is. Beside them stand bf16 and fp16, which need no
ranges at all and make a model half as large.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.lessons.quantization.algorithms.calibration import Kind
from helpers.lessons.quantization.algorithms.dynamic_layers import DynamicConv2d, DynamicLinear
from helpers.lessons.quantization.algorithms.dynamic_recurrent import DynamicGRU, DynamicLSTM
from helpers.lessons.quantization.algorithms.fake_quantization import FakeQuantize
from helpers.lessons.quantization.algorithms.folding import fold
from helpers.lessons.quantization.algorithms.quantized_training import convert, prepare
from helpers.lessons.quantization.algorithms.weight_only import WeightOnly

DYNAMIC: dict[type[nn.Module], Any] = {
    nn.Linear: DynamicLinear,
    nn.Conv2d: DynamicConv2d,
    nn.LSTM: DynamicLSTM,
    nn.GRU: DynamicGRU,
}
WEIGHTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.LSTM, nn.GRU, nn.RNN, nn.Embedding)


def quantize_static(
    model: nn.Module,
    batches: Iterable[Tensor],
    bits: int = 8,
    activation_bits: int | None = None,
    per_channel: bool = True,
    observer: Kind = "percentile",
) -> nn.Sequential:
    """The integer model: weights, activations and sums are whole numbers from end to end.

    model: as quantized_training.prepare takes it. batches: inputs to calibrate on, such as the
    model will see; a hundred or so are enough. Other arguments as for prepare. Raises ValueError
    where there is no batch.
    """
    prepared = prepare(model, bits, activation_bits, per_channel, observer).eval()
    places = [m for m in prepared.modules() if isinstance(m, FakeQuantize)]
    for place in places:
        place.watching, place.active = True, False
    with torch.no_grad():
        for batch in batches:
            prepared(batch)
    if not places[0].observer.batches:
        raise ValueError("Static ranges come from inputs: give at least one batch to calibrate on.")
    return convert(prepared)


def quantize_dynamic(model: nn.Module, bits: int = 8, per_channel: bool = True) -> nn.Module:
    """A copy whose products are of 8-bit codes, activations quantized when they come.

    model: any that calls its layers and leaves their weights alone (nn.TransformerEncoderLayer
    reads them); its Linear, Conv2d, LSTM and GRU are replaced, everything else stays in floats.
    bits: of the weights. Batch norms are folded where they can be.
    """
    return _replaced(model, tuple(DYNAMIC), lambda m: DYNAMIC[type(m)].of(m, bits, per_channel))


def quantize_weights(
    model: nn.Module,
    bits: int = 8,
    per_channel: bool = True,
    compute: torch.dtype | None = None,
) -> nn.Module:
    """A copy that holds its weights as codes and computes in floats.

    model: any that calls its layers and leaves their weights alone; replaced are Linear, Conv,
    LSTM, GRU, RNN and Embedding. bits: of the weights. compute: with torch.bfloat16 a Linear reads
    its codes as they are in its products, which is quick with few rows; None: float weights are
    made of them first, and products are as exact as the model's. Batch norms are folded where
    they can be.
    """
    return _replaced(model, WEIGHTED, lambda m: WeightOnly.of(m, bits, per_channel, compute))


def in_dtype(model: nn.Module, dtype: torch.dtype = torch.bfloat16) -> nn.Module:
    """A copy that computes in bf16 or fp16, with float32 going in and coming out.

    Raises ValueError for a type without a point.
    """
    if not dtype.is_floating_point:
        raise ValueError(f"A model computes in a floating type, not in {dtype}.")
    return InDtype(copy.deepcopy(model).eval().to(dtype), dtype)


class InDtype(nn.Module):
    """A model that takes and returns float32, and computes in another type."""

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.model, self.dtype = model, dtype

    @torch.no_grad()
    def forward(self, *inputs: Any) -> Any:
        given = _cast(inputs, self.dtype)
        return _cast(self.model(*given), torch.float32)


def _cast(value: Any, dtype: torch.dtype) -> Any:
    """Floating tensors, in tuples and lists too, in another type; the rest as it is."""
    if isinstance(value, Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, tuple | list):
        return type(value)(_cast(v, dtype) for v in value)
    return value


def _replaced(
    model: nn.Module, kinds: tuple[type[nn.Module], ...], make: Callable[[nn.Module], nn.Module]
) -> nn.Module:
    """A folded copy with every module of exactly these kinds made into another."""
    holder = nn.Module()
    holder.add_module("model", fold(model))
    made: dict[nn.Module, nn.Module] = {}  # a module that stands in two places is made once
    found = 0
    for parent in list(holder.modules()):
        for name, child in list(parent._modules.items()):  # named_children names each only once
            if child is not None and type(child) in kinds:
                made[child] = made[child] if child in made else make(child)
                setattr(parent, name, made[child])
                found += 1
    if not found:
        names = ", ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"There is nothing in this model to be quantized: no {names}.")
    replaced = holder.get_submodule("model")
    return replaced.eval()
