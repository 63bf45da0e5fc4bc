"""Dynamic quantization: weights as 8-bit codes, activations turned into codes when they come.

Nothing has to be calibrated: each row of an input (each picture) gets a scale from its own largest
magnitude, the product is one of 8-bit matrices, and its sums become floats again. Scales of rows
and of channels stand outside of the sums, so they cost one multiplication a result.

Of LSTM and GRU all inputs of a layer are multiplied at once; the states have to come one after the
other. Gates, states and everything else stay floats. Sources: Hochreiter and Schmidhuber, "Long
Short-Term Memory" (1997); Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder"
(2014); PyTorch's documentation of nn.LSTM and nn.GRU for the order of the gates.
"""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor, nn

from helpers.lessons.quantization.algorithms import packed_products
from helpers.lessons.quantization.algorithms.integer_layers import conv_products, derive_again
from helpers.lessons.quantization.algorithms.integer_products import (
    LONGEST,
    int_matmul,
    takes_unsigned,
)
from helpers.lessons.quantization.algorithms.packed_products import PackedWeight
from helpers.lessons.quantization.algorithms.quantization import weight_grid
from helpers.lessons.quantization.algorithms.windows import Sliding

State = tuple[Tensor, ...]  # (h,) of a GRU, (h, c) of an LSTM, each (rows, hidden)
MIDDLE = 128  # the zero point of unsigned codes: −127 to 127 become 1 to 255


def quantize_rows(x: Tensor, unsigned: bool = False) -> tuple[Tensor, Tensor]:
    """Codes from −127 to 127 with a scale for each row (all that has one first index).

    x: (rows, …), floating. Returns int8 codes like x, and scales (rows, 1, …) in x's type; or
    unsigned codes, uint8, all of them higher by 128. A row that holds a NaN or an infinity gets
    it as scale, so that its results are none either.
    """
    codes, scale = whole_rows(x, 127)
    return (codes.add_(MIDDLE).to(torch.uint8) if unsigned else codes.to(torch.int8)), scale


def whole_rows(x: Tensor, highest: int) -> tuple[Tensor, Tensor]:
    """Whole numbers from −highest to highest, still in x's type, with a scale for each row."""
    if not x.numel():
        return x.clone(), x.new_ones(len(x), *[1] * (x.dim() - 1))
    magnitude = x.abs().amax(list(range(1, x.dim())), keepdim=True)
    scale = (magnitude / highest).clamp_(min=torch.finfo(x.dtype).tiny)
    return (x / scale).round_(), scale


class DynamicLayer(nn.Module):
    """A weight as codes, with the scale of each channel, and the bias as floats; for inference.

    codes: int8, (out, …). scale: (out,). bias: (out,) floats, or None.
    """

    codes: Tensor
    scale: Tensor
    bias: Tensor | None

    def __init__(self, layer: Any, bits: int = 8) -> None:
        super().__init__()
        grid = weight_grid(layer.weight, bits)
        self.code_bits = {"codes": bits}
        self.register_buffer("codes", grid.quantize(layer.weight.detach()).contiguous())
        self.register_buffer("scale", grid.scale)
        bias = None if layer.bias is None else layer.bias.detach().to(grid.scale.dtype)
        self.register_buffer("bias", None if bias is None else bias.clone())

    @classmethod
    def of(cls, layer: nn.Module, bits: int = 8) -> Self:
        """The dynamic form of a trained layer; bits: of its weight, 2 to 8."""
        return cls(layer, bits)

    def values(self, sums: Tensor, scale: Tensor) -> Tensor:
        """What 32-bit sums stand for. scale: of the rows, shaped so that it meets them."""
        beside = (-1, *[1] * (self.codes.dim() - 2))  # channels too
        values = sums.to(self.scale.dtype).mul_(scale).mul_(self.scale.view(beside))
        return values if self.bias is None else values.add_(self.bias.view(beside))


class DynamicLinear(DynamicLayer):
    """A linear layer on 8-bit products: floats (…, in) to floats (…, out).

    Where the processor is quicker with unsigned codes, inputs get the zero point 128; what that
    adds to each sum, 128 Σ q_w, is known beforehand. Where it is quick with 7 bits only, the inputs
    of a float32 layer get 7: then results are a little further off than on another processor.
    """

    offset: Tensor
    packed: PackedWeight | None

    def __init__(self, linear: nn.Linear, bits: int = 8) -> None:
        super().__init__(linear, bits)
        self.register_buffer("offset", torch.empty(0), persistent=False)
        self.derive()
        self.register_load_state_dict_post_hook(derive_again)

    def derive(self) -> None:
        """Work out what follows from the codes."""
        self.offset = -MIDDLE * self.codes.sum(1, dtype=torch.int32)
        self.packed = packed_products.pack(self.codes, self.scale)

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        rows = x.detach().reshape(-1, self.codes.shape[1]).to(self.scale.dtype)
        # The layer may have gone to a GPU, or to another type, since its weight was packed.
        here = rows.device.type == "cpu" and rows.dtype == torch.float32
        if self.packed is not None and here:
            found = self._of_7_bits(rows, self.packed)
        else:
            found = self._of_8_bits(rows)
        return found.view(*x.shape[:-1], len(self.codes)).to(x.dtype)

    def _of_7_bits(self, rows: Tensor, packed: PackedWeight) -> Tensor:
        codes, scale = whole_rows(rows, packed_products.HIGHEST)
        bias = rows.new_zeros(1) if self.bias is None else self.bias
        return torch.addcmul(bias, packed.products(codes), scale)

    def _of_8_bits(self, rows: Tensor) -> Tensor:
        unsigned = takes_unsigned(rows.device) and rows.shape[1] <= LONGEST[torch.uint8]
        codes, scale = quantize_rows(rows, unsigned)
        sums = int_matmul(codes, self.codes.t())
        return self.values(sums.add_(self.offset) if unsigned else sums, scale)


class DynamicConv2d(DynamicLayer):
    """A convolution on 8-bit products, with a scale for each picture."""

    def __init__(self, conv: nn.Conv2d, bits: int = 8) -> None:
        super().__init__(conv, bits)
        self.sliding, self.groups = Sliding.of(conv), conv.groups

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        codes, scale = quantize_rows(x.detach().to(self.scale.dtype))
        sums = conv_products(codes, self.codes, self.sliding, self.groups, filler=0)
        return self.values(sums, scale).to(x.dtype)


# --- recurrent ------------------------------------------------------------------------------------


class DynamicRecurrent(nn.Module):
    """What both kinds share: layers, and the walk along the time steps, from states of zeros.

    source: a trained one, of one direction. bits: of its weights, 2 to 8. incoming, recurrent: the
    products with the input and with the state, in the order of layers.
    """

    states: int  # tensors in a state

    def __init__(self, source: nn.RNNBase, bits: int = 8) -> None:
        super().__init__()
        if source.proj_size or source.bidirectional:
            raise ValueError(
                "A recurrent layer with projections or two directions has no dynamic form here: "
                "quantize its weights only."
            )
        self.hidden, self.batch_first = source.hidden_size, source.batch_first
        layers = range(source.num_layers)
        self.incoming = nn.ModuleList(_product(source, f"ih_l{n}", bits) for n in layers)
        self.recurrent = nn.ModuleList(_product(source, f"hh_l{n}", bits) for n in layers)

    def cell(self, of_input: Tensor, of_state: Tensor, state: State) -> State:
        """The next state, from both products, (rows, gates · hidden) each, and the last state."""
        raise NotImplementedError

    @torch.no_grad()
    def forward(self, x: Tensor) -> tuple[Tensor, Any]:
        """As nn.LSTM or nn.GRU: x (time, rows, in), or (rows, time, in) where batch_first.

        Returns the outputs and the last states.
        """
        x = x.transpose(0, 1) if self.batch_first else x
        ends: list[State] = []
        for incoming, recurrent in zip(self.incoming, self.recurrent, strict=True):
            state: State = tuple(x.new_zeros(x.shape[1], self.hidden) for _ in range(self.states))
            found = []
            for step in incoming(x):
                state = self.cell(step, recurrent(state[0]), state)
                found.append(state[0])
            x = torch.stack(found)
            ends.append(state)
        last = tuple(torch.stack(parts) for parts in zip(*ends, strict=True))
        return x.transpose(0, 1) if self.batch_first else x, last if self.states > 1 else last[0]


def _product(source: nn.RNNBase, name: str, bits: int) -> DynamicLinear:
    """The product of a layer, "ih_l0" and so on with its inputs, "hh_l0" with its states."""
    weight = getattr(source, f"weight_{name}")
    linear = nn.Linear(weight.shape[1], len(weight), bias=source.bias, device="meta")
    linear.weight = weight
    if source.bias:
        linear.bias = getattr(source, f"bias_{name}")
    return DynamicLinear(linear, bits)


def tanh(x: Tensor) -> Tensor:
    """tanh x = 2σ(2x) − 1, to 10⁻⁷: torch's σ is many times as quick on a CPU as its tanh.

    With products of 8 bits the tanh of the gates would be a fifth of an LSTM's time.
    """
    return (2 * x).sigmoid_().mul_(2).sub_(1)


class DynamicLSTM(DynamicRecurrent):
    """An LSTM on 8-bit products, for inference."""

    states = 2

    def cell(self, of_input: Tensor, of_state: Tensor, state: State) -> State:
        """Gates in PyTorch's order: in, forget, candidate, out."""
        enter, forget, candidate, leave = (of_input + of_state).chunk(4, -1)
        inside = forget.sigmoid() * state[1] + enter.sigmoid() * tanh(candidate)
        return leave.sigmoid() * tanh(inside), inside


class DynamicGRU(DynamicRecurrent):
    """A GRU on 8-bit products, for inference."""

    states = 1

    def cell(self, of_input: Tensor, of_state: Tensor, state: State) -> State:
        """Gates in PyTorch's order: reset, update, new."""
        reset, update, new = of_input.chunk(3, -1)
        reset_state, update_state, new_state = of_state.chunk(3, -1)
        kept = (update + update_state).sigmoid()
        fresh = tanh(new + (reset + reset_state).sigmoid() * new_state)
        return (kept * state[0] + (1 - kept) * fresh,)
