"""The tensors of AlexNet, a model whose bytes sit in one layer.

Source: Krizhevsky, "One weird trick for parallelizing convolutional neural networks" (2014), as
torchvision builds it.
"""

from __future__ import annotations

from math import prod

# Of the weights; each layer's biases are as many as its outputs, which come first.
SHAPES: dict[str, tuple[int, ...]] = {
    "conv1": (64, 3, 11, 11),
    "conv2": (192, 64, 5, 5),
    "conv3": (384, 192, 3, 3),
    "conv4": (256, 384, 3, 3),
    "conv5": (256, 256, 3, 3),
    "fc6": (4096, 9216),
    "fc7": (4096, 4096),
    "fc8": (1000, 4096),
}


def tensor_bytes() -> dict[str, int]:
    """Bytes of each tensor in float32, in the model's order; 244 MB in all."""
    sizes: dict[str, int] = {}
    for layer, shape in SHAPES.items():
        sizes |= {layer: 4 * prod(shape), f"{layer} bias": 4 * shape[0]}
    return sizes
