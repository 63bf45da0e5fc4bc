"""How many callbacks can be gone back through, at both sides of the bound."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from helpers.instructor.judge import exchange
from helpers.instructor.judge.messages import Violation


def called(records: int) -> dict[str, Any]:
    """What a callback gives that can be gone back through, where so many are kept already."""
    given = [torch.ones(2)]
    handing: Any = SimpleNamespace(take=lambda told, *limits: (given, given))
    kept: Any = dict.fromkeys(range(1, records + 1))
    one = exchange.Exchange(SimpleNamespace(), handing, kept)  # type: ignore[arg-type]
    return one._called(lambda x: 2 * x, [], [], grad=True)


def test_the_last_one_is_kept_and_the_next_is_refused() -> None:
    assert called(0)["record"] == 1
    assert called(exchange._RECORDS - 1)["record"] == exchange._RECORDS
    with pytest.raises(Violation, match="more callbacks"):
        called(exchange._RECORDS)
