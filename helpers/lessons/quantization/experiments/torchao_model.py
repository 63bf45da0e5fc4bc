"""A model on 8-bit products by torchao, torch's own library for it."""

from __future__ import annotations

import logging

import torch
from torch import nn

from helpers.lessons.quantization.algorithms.folding import fold


def torchao_dynamic(model: nn.Module, for_compiler: bool = False) -> nn.Module:
    """A copy whose linear layers torchao computes with 8-bit codes, for inference.

    Weights have one scale a channel, activations one a row, found when they come. Everything but
    nn.Linear stays in floats; batch norms are folded where they can be. for_compiler: change
    torch.compile's settings, of the whole process, to those that torchao recommends.
    """
    for name in ("torchao", "torch.utils._pytree"):  # about what a CPU has no use for
        logging.getLogger(name).setLevel(logging.ERROR)
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_
    from torchao.utils import should_reduce_range

    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    config = Int8DynamicActivationInt8WeightConfig(
        set_inductor_config=for_compiler,
        # Without VNNI's instructions torch sums pairs of products in 16 bits: too few for 8-bit
        # codes of full range.
        reduce_range=should_reduce_range(device),
    )
    copied = fold(model)
    quantize_(copied, config)
    return copied
