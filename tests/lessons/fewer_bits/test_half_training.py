"""fp16 needs a loss scale where gradients are small; bf16 does not."""

from __future__ import annotations

import pytest
import torch

from helpers.lessons.fewer_bits.algorithms.loss_scale import DynamicLossScale
from helpers.lessons.fewer_bits.experiments.half_training import train


@pytest.mark.thorough
def test_fp16_stands_still_without_a_scale_and_trains_with_one() -> None:
    whole = train(torch.float32)
    alone = train(torch.float16)
    assert alone.losses[-1] == alone.losses[0] and set(alone.zeros) == {1.0}
    scale = DynamicLossScale(2.0**36, interval=40)  # too large at first
    scaled = train(torch.float16, scale)
    assert scale.skipped >= 3 and max(scaled.scales) > scaled.scales[scale.skipped]
    for losses in (scaled.losses, train(torch.bfloat16).losses):
        assert abs(losses[-1] / whole.losses[-1] - 1) < 0.1
    assert whole.losses[-1] < 0.5 * whole.losses[0]
