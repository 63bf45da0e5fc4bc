"""What a child says of a tensor is believed as far as it can be."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.checks.encoding import Malformed
from helpers.grade.judge.messages import shape_of


@pytest.mark.parametrize("shape", [[], [0], [3, 0, 2], [1] * 16])
def test_a_shape_of_up_to_sixteen_dimensions_is_taken(shape: list[int]) -> None:
    assert shape_of(shape) == tuple(shape)


@pytest.mark.parametrize("shape", [[1] * 17, (2, 3), None, [-1], [2.0], [True], [1 << 40, 1 << 40]])
def test_what_is_no_shape_is_refused(shape: Any) -> None:
    with pytest.raises(Malformed):
        shape_of(shape)
