"""LSTM and GRU on 8-bit products: codes for the weights, a scale for each row of each step.

All inputs of a layer are multiplied at once; the states have to come one after the other. Gates,
states and everything else stay floats. Sources: Hochreiter and Schmidhuber, "Long Short-Term
Memory" (1997); Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder" (2014);
PyTorch's documentation of nn.LSTM and nn.GRU for the order of the gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from helpers.lessons.quantization.algorithms.dynamic_layers import DynamicLinear

State = tuple[Tensor, ...]  # (h,) of a GRU, (h, c) of an LSTM, each (rows, hidden)


class DynamicRecurrent(nn.Module):
    """What both kinds share: layers, directions, and the walk along the time steps.

    incoming, recurrent: the products with the input and with the state, in the order of layers and,
    within a layer, of directions.
    """

    states: int  # tensors in a state

    def __init__(self, source: nn.RNNBase, bits: int = 8, per_channel: bool = True) -> None:
        super().__init__()
        if getattr(source, "proj_size", 0):
            raise ValueError(
                "A recurrent layer with projections has no dynamic form here: use proj_size=0, or "
                "quantize its weights only."
            )
        self.hidden, self.layers = source.hidden_size, source.num_layers
        self.directions = 2 if source.bidirectional else 1
        self.batch_first = source.batch_first
        parts = list(zip(*(self._parts(source, kind) for kind in ("ih", "hh")), strict=True))
        self.incoming = nn.ModuleList(DynamicLinear.of(a, bits, per_channel) for a, _ in parts)
        self.recurrent = nn.ModuleList(DynamicLinear.of(b, bits, per_channel) for _, b in parts)

    def _parts(self, source: nn.RNNBase, kind: str) -> list[nn.Linear]:
        """The linear layers inside: "ih" those of the inputs, "hh" those of the states."""
        found = []
        for layer in range(self.layers):
            for ending in ("", "_reverse")[: self.directions]:
                weight = getattr(source, f"weight_{kind}_l{layer}{ending}")
                linear = nn.Linear(weight.shape[1], len(weight), bias=source.bias, device="meta")
                linear.weight = weight
                if source.bias:
                    linear.bias = getattr(source, f"bias_{kind}_l{layer}{ending}")
                found.append(linear)
        return found

    def cell(self, of_input: Tensor, of_state: Tensor, state: State) -> State:
        """The next state, from both products, (rows, gates · hidden) each, and the last state."""
        raise NotImplementedError

    @torch.no_grad()
    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """As nn.LSTM or nn.GRU: x (time, rows, in), or (rows, time, in) where batch_first.

        state: as theirs, None for zeros. Returns the outputs and the last state. A sequence
        without rows, (time, in), works as well. Raises TypeError for a packed sequence.
        """
        if not isinstance(x, Tensor):
            raise TypeError("A dynamic recurrent layer takes a tensor, not a packed sequence.")
        single = x.dim() == 2
        x = x.unsqueeze(1) if single else x.transpose(0, 1) if self.batch_first else x
        given = self._given(state, x, single)
        ends: list[State] = []
        for layer in range(self.layers):
            x = self._layer(x, layer, given, ends)
        last = [torch.stack(parts) for parts in zip(*ends, strict=True)]
        if single:
            x, last = x.squeeze(1), [s.squeeze(1) for s in last]
        elif self.batch_first:
            x = x.transpose(0, 1)
        return x, last[0] if self.states == 1 else tuple(last)

    def _given(self, state: Any, x: Tensor, single: bool) -> list[Tensor]:
        """The states to begin with, each (layers · directions, rows, hidden)."""
        if state is None:
            shape = (self.layers * self.directions, x.shape[1], self.hidden)
            return [x.new_zeros(shape) for _ in range(self.states)]
        given = [state] if isinstance(state, Tensor) else list(state)
        return [s.unsqueeze(1) for s in given] if single else given

    def _layer(self, x: Tensor, layer: int, given: Sequence[Tensor], ends: list[State]) -> Tensor:
        """One layer over all time steps, in each direction; its last states are put into `ends`."""
        outputs = []
        for direction in range(self.directions):
            place = layer * self.directions + direction
            products = self.incoming[place](x)
            state: State = tuple(s[place] for s in given)
            found = []
            for step in products.flip(0) if direction else products:
                state = self.cell(step, self.recurrent[place](state[0]), state)
                found.append(state[0])
            along = torch.stack(found)
            outputs.append(along.flip(0) if direction else along)
            ends.append(state)
        return torch.cat(outputs, dim=-1)


def tanh(x: Tensor) -> Tensor:
    """tanh x = 2σ(2x) − 1, to 10⁻⁷: torch's σ is many times as quick on a CPU as its tanh.

    With products of 8 bits the tanh of the gates would be a fifth of an LSTM's time.
    """
    return (2 * x).sigmoid_().mul_(2).sub_(1)


class DynamicLSTM(DynamicRecurrent):
    """An LSTM on 8-bit products, for inference; make one with `of`."""

    states = 2

    @classmethod
    def of(cls, lstm: nn.LSTM, bits: int = 8, per_channel: bool = True) -> DynamicLSTM:
        """The dynamic form of a trained LSTM; bits: of its weights, 2 to 8."""
        return cls(lstm, bits, per_channel)

    def cell(self, of_input: Tensor, of_state: Tensor, state: State) -> State:
        """Gates in PyTorch's order: in, forget, candidate, out."""
        enter, forget, candidate, leave = (of_input + of_state).chunk(4, -1)
        inside = forget.sigmoid() * state[1] + enter.sigmoid() * tanh(candidate)
        return leave.sigmoid() * tanh(inside), inside


class DynamicGRU(DynamicRecurrent):
    """A GRU on 8-bit products, for inference; make one with `of`."""

    states = 1

    @classmethod
    def of(cls, gru: nn.GRU, bits: int = 8, per_channel: bool = True) -> DynamicGRU:
        """The dynamic form of a trained GRU; bits: of its weights, 2 to 8."""
        return cls(gru, bits, per_channel)

    def cell(self, of_input: Tensor, of_state: Tensor, state: State) -> State:
        """Gates in PyTorch's order: reset, update, new."""
        reset, update, new = of_input.chunk(3, -1)
        reset_state, update_state, new_state = of_state.chunk(3, -1)
        kept = (update + update_state).sigmoid()
        fresh = tanh(new + (reset + reset_state).sigmoid() * new_state)
        return (kept * state[0] + (1 - kept) * fresh,)
