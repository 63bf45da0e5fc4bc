"""Small networks of given weights, for lessons 03 and 04 and for a submission's process."""

import torch
from torch import Tensor, nn


def network(weights: list[Tensor]) -> nn.Sequential:
    """Linear layers with tanh between them, float64, from copies of [W₁, b₁, W₂, b₂, …]."""
    return network_of([nn.Parameter(weight.to(torch.float64, copy=True)) for weight in weights])


def network_of(parameters: list[nn.Parameter]) -> nn.Sequential:
    """As `network`, of these very parameters."""
    layers: list[nn.Module] = []
    for weight, bias in zip(parameters[::2], parameters[1::2], strict=True):
        linear = nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
        linear.weight, linear.bias = weight, bias
        layers += [linear, nn.Tanh()]
    return nn.Sequential(*layers[:-1])
