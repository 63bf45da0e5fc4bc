"""A driver for a function that is told a rank and its world, and has no comm."""

from __future__ import annotations

from typing import Any

from helpers.exercises.drives.calling import Function
from helpers.exercises.drives.ranks import Apart
from helpers.exercises.drives.values import plain


def _on_each_rank(fn: Function, rank: int, length: int, parts: int, size: int) -> list[Any]:
    """`fn(length, parts, rank, size)`."""
    return [plain(fn(length, parts, rank, size))]


on_each_rank = Apart(_on_each_rank, arguments=4)  # `values[0][0][rank]` is what it gave
