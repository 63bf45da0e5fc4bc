"""The tensors of AlexNet, a model whose bytes sit in one layer.

Source: Krizhevsky, "One weird trick for parallelizing convolutional neural networks" (2014), as
torchvision builds it.
"""

from __future__ import annotations

from math import prod

SHAPES: dict[str, tuple[int, ...]] = {
    "conv1": (64, 3, 11, 11),
    "conv1 bias": (64,),
    "conv2": (192, 64, 5, 5),
    "conv2 bias": (192,),
    "conv3": (384, 192, 3, 3),
    "conv3 bias": (384,),
    "conv4": (256, 384, 3, 3),
    "conv4 bias": (256,),
    "conv5": (256, 256, 3, 3),
    "conv5 bias": (256,),
    "fc6": (4096, 9216),
    "fc6 bias": (4096,),
    "fc7": (4096, 4096),
    "fc7 bias": (4096,),
    "fc8": (1000, 4096),
    "fc8 bias": (1000,),
}


def tensor_bytes() -> dict[str, int]:
    """Bytes of each tensor in float32, in the model's order; 244 MB in all."""
    return {name: 4 * prod(shape) for name, shape in SHAPES.items()}
