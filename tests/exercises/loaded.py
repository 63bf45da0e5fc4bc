"""What the process of a check has imported before its time counts, imported in a test's own."""

from __future__ import annotations

import pytest

from helpers.engines.server import PRELOAD


def load(framework: str) -> None:
    """Import it, which takes half a minute where the disk is slow. Skips what is not installed."""
    for module in PRELOAD[framework]:
        pytest.importorskip(module)
