"""LSTM and GRU on 8-bit products: codes for the weights, a scale for each row of each step.

All inputs of a layer are multiplied at once; the states have to come one after the other. Gates,
states and everything else stay floats. Sources: Hochreiter and Schmidhuber, "Long Short-Term
Memory" (1997); Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder" (2014);
PyTorch's documentation of nn.LSTM and nn.GRU for the order of the gates.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.lessons.quantization.algorithms.dynamic_layers import DynamicLinear

State = tuple[Tensor, ...]  # (h,) of a GRU, (h, c) of an LSTM, each (rows, hidden)


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
