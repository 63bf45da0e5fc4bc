"""A dense network cut through every layer: each rank holds a slice of every layer's units.

Two ways to cut a layer y = W x. By columns (of the book's x W; here rows of torch's W) each rank
makes a slice of y and needs all of x, so activations are gathered before each layer. By rows
each rank holds the weights of its slice of x and makes a part of every y; the parts are summed,
and each rank keeps its slice. Both move as many bytes: all activations of every layer, forward
and again backward. Source: Dean et al., "Large Scale Distributed Deep Networks" (2012), section 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn
from torch.nn import functional

from helpers.lessons.data_parallel.algorithms.data_parallel import broadcast_parameters
from helpers.lessons.messages.algorithms.collectives import chunk_bounds
from helpers.lessons.splitting.algorithms.model_split import (
    ELEMENTWISE,
    gather_units,
    scatter_sum_units,
    whole_gradient,
)

if TYPE_CHECKING:
    from helpers.engine.comm import Comm


class VerticalSplit(nn.Module):
    """A network of Linear and elementwise layers, of which this rank holds a slice of all units.

        net = VerticalSplit(comm, dense)
        loss(net(inputs), targets).backward()     # on every rank, with the same rows
        optimizer_of(net.parameters()).step()     # each rank its own slices

    dense: the whole model, built on every rank; rank 0's parameters are what all start from.
    how: "columns" or "rows", as the module's text says. Every rank is given all of the inputs and
    gets all of the outputs. Units are cut by `chunk_bounds`: slices differ by one unit at most.
    Layers that share a weight or a bias share their slices of it.
    Raises ValueError for a layer that is neither Linear nor elementwise.
    """

    def __init__(self, comm: Comm, dense: nn.Sequential, how: str = "columns") -> None:
        super().__init__()
        if how not in ("columns", "rows"):
            raise ValueError(f'how={how!r} is no way to cut: take "columns" or "rows".')
        dense.to(comm.device)
        broadcast_parameters(dense, comm)
        self.comm, self.how = comm, how
        self.layers = nn.ModuleList()
        slices: dict[tuple[nn.Parameter, str], nn.Parameter] = {}
        for number, layer in enumerate(dense):
            if isinstance(layer, nn.Linear):
                self.layers.append(LinearSlice(comm, layer, how, slices))
            elif isinstance(layer, ELEMENTWISE):
                self.layers.append(layer)
            else:
                raise ValueError(
                    f"Layer {number} is a {type(layer).__name__}, which mixes units in its own "
                    "way: a vertical split takes Linear layers with elementwise ones between."
                )
        if not any(isinstance(layer, LinearSlice) for layer in self.layers):
            raise ValueError("There is no Linear layer to cut.")

    def forward(self, inputs: Tensor) -> Tensor:
        """All outputs on every rank. inputs: (rows, width), the same on every rank."""
        x, sizes = whole_gradient(self.comm, inputs.to(self.comm.device)), [0]
        whole = True  # whether x has all units, or this rank's slice
        for layer in self.layers:
            if not isinstance(layer, LinearSlice):
                x = layer(x)
                continue
            if self.how == "columns" and not whole:
                x = gather_units(self.comm, x, sizes)
            elif self.how == "rows" and whole:
                x = x[..., slice(*layer.inputs[self.comm.rank])]
            x, whole = layer(x), False
            sizes = [stop - start for start, stop in layer.outputs]
        return gather_units(self.comm, x, sizes, replicated=True)


class LinearSlice(nn.Module):
    """This rank's slice of a Linear layer: y of its own units, from all of x or from its slice.

    inputs, outputs: for each rank the bounds of its units. slices: what was cut before, so that
    layers that share a parameter share its slice.
    """

    def __init__(
        self,
        comm: Comm,
        layer: nn.Linear,
        how: str,
        slices: dict[tuple[nn.Parameter, str], nn.Parameter],
    ) -> None:
        super().__init__()
        self.comm, self.how = comm, how
        self.inputs = chunk_bounds(layer.in_features, comm.size)
        self.outputs = chunk_bounds(layer.out_features, comm.size)
        weight: Any = layer.weight
        bias: Any = layer.bias
        mine = slice(*self.outputs[comm.rank])
        columns = slice(*self.inputs[comm.rank])
        cut = weight[mine] if how == "columns" else weight[:, columns]
        self.weight = slices.setdefault((weight, how), _own(weight, cut))
        self.bias = None if bias is None else slices.setdefault((bias, how), _own(bias, bias[mine]))

    def forward(self, x: Tensor) -> Tensor:
        """x: (rows, all inputs) by columns, (rows, this rank's inputs) by rows."""
        if self.how == "columns":
            return functional.linear(x, self.weight, self.bias)
        partial = functional.linear(x, self.weight)
        sizes = [stop - start for start, stop in self.outputs]
        y = scatter_sum_units(self.comm, partial, sizes)
        return y if self.bias is None else y + self.bias  # the bias once, not on every rank


def _own(parameter: nn.Parameter, cut: Tensor) -> nn.Parameter:
    """A slice with memory of its own, so that the rest can be freed."""
    return nn.Parameter(cut.detach().clone().contiguous(), requires_grad=parameter.requires_grad)
