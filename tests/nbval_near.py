"""A plugin for nbval: in cells tagged `nbval-near`, a number may differ by a little.

A network that trains in float32 ends elsewhere on another processor, which adds in another order;
what a lesson says of it holds all the same. Everything but the numbers is compared as ever.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import wraps
from typing import Any

import pytest

TAG = "nbval-near"
PART = 0.1
"""How far apart two numbers may be, in parts of the larger, or else one unit of the last digit."""

TEXTS = ("text", "data", "text/plain", "text/html", "text/markdown")
"""Where an output holds text, or more that holds text; a picture is none."""

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


def near(stored: str, new: str) -> bool:
    """Whether two texts are the same but for numbers a little apart.

    Columns of a table are as wide as their numbers, so blanks and rules count as one.
    """
    texts = [re.sub(r"-{3,}", "---", re.sub(r" +", " ", text)) for text in (stored, new)]
    if NUMBER.sub("#", texts[0]) != NUMBER.sub("#", texts[1]):
        return False
    pairs = zip(*(NUMBER.findall(text) for text in texts), strict=True)
    return all(_close(one, other) for one, other in pairs)


def _close(one: str, other: str) -> bool:
    a, b = (float(text.replace(",", "")) for text in (one, other))
    unit = max(_unit(one), _unit(other))
    return abs(a - b) <= max(PART * max(abs(a), abs(b)), 1.001 * unit)


def _unit(text: str) -> float:
    """What one more in the last digit is worth."""
    digits, _, power = text.partition("e")
    _, _, behind = digits.partition(".")
    return 10.0 ** (int(power or 0) - len(behind))


def with_stored_numbers(new: Sequence[Any], stored: Sequence[Any]) -> list[Any]:
    """The new outputs, with the stored text wherever a new one is near it."""
    return [_settle(*pair) for pair in zip(new, stored, strict=False)] + list(new[len(stored) :])


def _settle(new: Any, stored: Any) -> Any:
    if isinstance(new, str) and isinstance(stored, str):
        return stored if near(stored, new) else new
    if isinstance(new, dict) and isinstance(stored, dict):
        settled = {k: _settle(v, stored.get(k)) if k in TEXTS else v for k, v in new.items()}
        return type(new)(settled)
    return new


def pytest_configure(config: pytest.Config) -> None:
    """Make nbval's comparison settle the numbers first, in cells that ask for it."""
    from nbval.plugin import IPyNbCell

    compare = IPyNbCell.compare_outputs

    @wraps(compare)
    def settled(self: Any, test: Any, ref: Any, skip_compare: Any = None) -> Any:
        if TAG in self.cell.metadata.get("tags", ()):
            test = with_stored_numbers(test, ref)
        return compare(self, test, ref, skip_compare)

    IPyNbCell.compare_outputs = settled
