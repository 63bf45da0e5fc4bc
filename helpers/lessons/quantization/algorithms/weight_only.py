"""Weight-only quantization: codes in memory and on disk, floats again for each product.

It makes a model small, not its arithmetic quick. Where reading weights is what takes the time, as
when a large model answers one request, it is quick as well, if the codes are not made floats in
memory first: `compute=torch.bfloat16`.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import linear

from helpers.lessons.quantization.algorithms.quantization import Grid, weight_grid

WHOLE = 64  # elements of a row that the quick product takes at once; others would be read past it


class WeightOnly(nn.Module):
    """Any layer whose weights have their channels along dimension 0, with codes for weights.

    Parameters of two and more dimensions become codes, of `bits` bits, 2 to 8; the others (biases)
    stay as they are. compute: the type of an nn.Linear's product, torch.bfloat16 or None for the
    type of the layer. Raises ValueError for another type.
    """

    def __init__(self, layer: nn.Module, bits: int = 8, compute: torch.dtype | None = None) -> None:
        super().__init__()
        if compute not in (None, torch.bfloat16):
            raise ValueError(
                f"Codes meet rows in bfloat16, or None for the layer's own type, not {compute}."
            )
        self.in_bfloat16 = compute is not None and type(layer) is nn.Linear
        self.code_bits: dict[str, int] = {}
        self._dtypes: dict[str, torch.dtype] = {}
        self._empty = [empty_copy(layer)]  # in a list, so that it is no part of this module
        for name, parameter in layer.named_parameters():
            value, held = parameter.detach(), name.replace(".", "_")
            if value.dim() < 2 or not value.is_floating_point():
                self.register_buffer(f"{held}_plain", value.clone())
                continue
            grid = weight_grid(value, bits)
            self.code_bits[f"{held}_codes"] = bits
            self._dtypes[held] = value.dtype
            self.register_buffer(f"{held}_codes", grid.quantize(value))
            self.register_buffer(f"{held}_scale", grid.scale)
        self._names = [name for name, _ in layer.named_parameters()]

    def weights(self) -> dict[str, Tensor]:
        """All parameters of the layer by name, as floats."""
        return {name: self._weight(name.replace(".", "_")) for name in self._names}

    def _weight(self, held: str) -> Tensor:
        buffers = dict(self.named_buffers(recurse=False))
        if f"{held}_plain" in buffers:
            return buffers[f"{held}_plain"]
        scale = buffers[f"{held}_scale"]
        zero_point = torch.zeros_like(scale, dtype=torch.int32)
        bits = self.code_bits[f"{held}_codes"]
        grid = Grid(scale, zero_point, bits, narrow=True, axis=0)
        return grid.dequantize(buffers[f"{held}_codes"], self._dtypes[held])

    @torch.no_grad()
    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Whatever the layer takes, to whatever it returns."""
        if self.in_bfloat16:
            return self._linear(*inputs, **named)
        layer = self._empty[0].train(self.training)
        return functional_call(layer, self.weights(), inputs, named)

    def _linear(self, input: Tensor) -> Tensor:
        """A linear layer's product in bfloat16; scales and biases are float32."""
        buffers = dict(self.named_buffers(recurse=False))
        rows = input.reshape(-1, input.shape[-1]).to(torch.bfloat16)
        found = rows_by_codes(rows, buffers["weight_codes"]).float() * buffers["weight_scale"]
        if "bias_plain" in buffers:
            found += buffers["bias_plain"]
        return found.view(*input.shape[:-1], -1).to(input.dtype)


def empty_copy(layer: nn.Module) -> nn.Module:
    """The layer without its numbers: parameters on the meta device take no memory."""
    memo: dict[int, Any] = {}
    for parameter in layer.parameters():
        memo[id(parameter)] = nn.Parameter(parameter.detach().to("meta"), requires_grad=False)
    return copy.deepcopy(layer, memo)


def rows_by_codes(x: Tensor, codes: Tensor) -> Tensor:
    """x·codesᵀ: (rows, out), bfloat16, summed in float32.

    What takes the time at a row or a few is to read the weight: as codes it is a quarter of what
    float32 has. torch has a product that reads them; where it is not quick, they become bfloat16
    first, in which whole numbers up to 256 are exact. x: (rows, in), bfloat16. codes: (out, in),
    int8.
    """
    if x.device.type == "cpu" and codes.shape[1] % WHOLE == 0 and x.numel() and reads_codes():
        ones = torch.ones(len(codes), dtype=torch.bfloat16)
        return torch._weight_int8pack_mm(x.contiguous(), codes, ones)
    return linear(x, codes.to(torch.bfloat16))


@lru_cache
def reads_codes() -> bool:
    """Whether torch has the product that reads codes, and this processor the vectors for it."""
    if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        return False
    codes = torch.tensor([-128, 127], dtype=torch.int8)[:, None].repeat(1, WHOLE)
    x = torch.ones(1, WHOLE, dtype=torch.bfloat16)
    try:
        found = torch._weight_int8pack_mm(x, codes, torch.ones(2, dtype=torch.bfloat16))
    except (AttributeError, NotImplementedError, RuntimeError):  # a torch without the operation
        return False
    return found.float().tolist() == [[-128.0 * WHOLE, 127.0 * WHOLE]]
