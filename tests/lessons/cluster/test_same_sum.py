"""Sums of gradients in the order of the parts: what does not fit is told. The rest claims 17.6."""

from __future__ import annotations

import pytest
import torch

from helpers.lessons.cluster.algorithms.same_sum import own_rows


@pytest.mark.parametrize(
    ("mine", "says"),
    [
        ({4: torch.ones(3)}, r"There is no part 4: they are 0 to 3\."),
        ({0: torch.ones(1)}, r"Part 0 is \(1,\) in torch.float32, but"),
        ({1: torch.ones(3, dtype=torch.float64)}, r"Part 1 is \(3,\) in torch.float64, but"),
    ],
    ids=["part", "shape", "type"],
)
def test_what_does_not_fit_is_told(mine: dict[int, torch.Tensor], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        own_rows(mine, 4, torch.zeros(3))
