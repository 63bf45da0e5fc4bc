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
from helpers.lessons.quantization.algorithms.dynamic_layers import (
    DynamicConv2d,
    DynamicGRU,
    DynamicLinear,
    DynamicLSTM,
)
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
    model: nn.Module, batches: Iterable[Tensor], bits: int = 8, observer: Kind = "percentile"
) -> nn.Sequential:
    """The integer model: weights, activations and sums are whole numbers from end to end.

    model: as quantized_training.prepare takes it. batches: inputs to calibrate on, such as the
    model will see; a hundred or so are enough. Other arguments as for prepare. Raises ValueError
    where there is no batch.
    """
    prepared = prepare(model, bits, observer).eval()
    places = [m for m in prepared.modules() if isinstance(m, FakeQuantize)]
    for place in places:
        place.watching, place.active = True, False
    with torch.no_grad():
        for batch in batches:
            prepared(batch)
    if not places[0].observer.batches:
        raise ValueError("Static ranges come from inputs: give at least one batch to calibrate on.")
    return convert(prepared)


def quantize_dynamic(model: nn.Module, bits: int = 8) -> nn.Module:
    """A copy whose products are of 8-bit codes, activations quantized when they come.

    model: any that calls its layers and leaves their weights alone (nn.TransformerEncoderLayer
    reads them); its Linear, Conv2d, LSTM and GRU are replaced, everything else stays in floats.
    bits: of the weights. Batch norms are folded where they can be.
    """
    return _replaced(model, tuple(DYNAMIC), lambda m: DYNAMIC[type(m)](m, bits))


def quantize_weights(
    model: nn.Module, bits: int = 8, compute: torch.dtype | None = None
) -> nn.Module:
    """A copy that holds its weights as codes and computes in floats.

    model: any that calls its layers and leaves their weights alone; replaced are Linear, Conv,
    LSTM, GRU, RNN and Embedding. bits: of the weights. compute: with torch.bfloat16 a Linear reads
    its codes as they are in its products, which is quick with few rows; None: float weights are
    made of them first, and products are as exact as the model's. Batch norms are folded where
    they can be.
    """
    return _replaced(model, WEIGHTED, lambda m: WeightOnly(m, bits, compute))


def in_dtype(model: nn.Module, dtype: torch.dtype = torch.bfloat16) -> nn.Module:
    """A copy that computes in bf16 or fp16, with float32 going in and coming out."""
    return InDtype(copy.deepcopy(model).eval().to(dtype), dtype)


class InDtype(nn.Module):
    """A model that takes and returns float32, and computes in another type."""

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.model, self.dtype = model, dtype

    @torch.no_grad()
    def forward(self, x: Tensor) -> Any:
        return _floats(self.model(x.to(self.dtype)))


def _floats(value: Any) -> Any:
    """Tensors, in tuples too, in float32."""
    return tuple(map(_floats, value)) if isinstance(value, tuple) else value.float()


def _replaced(
    model: nn.Module, kinds: tuple[type[nn.Module], ...], make: Callable[[nn.Module], nn.Module]
) -> nn.Module:
    """A folded copy with every module of exactly these kinds made into another."""
    holder = nn.ModuleDict({"model": fold(model)})
    made: dict[nn.Module, nn.Module] = {}  # a module that stands in two places is made once
    for parent in list(holder.modules()):
        for name, child in list(parent._modules.items()):  # named_children names each only once
            if child is not None and type(child) in kinds:
                made[child] = made[child] if child in made else make(child)
                setattr(parent, name, made[child])
    if not made:
        names = ", ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"There is nothing in this model to be quantized: no {names}.")
    return holder["model"].eval()
