"""What became of a call, as a submission's process tells it."""

from __future__ import annotations

from typing import Any

from helpers.worker.encoding import encode

_TEXT = 2000


def as_data(seen: Any) -> dict[str, Any]:
    """An observation as JSON data."""
    line = seen.place.line if seen.place is not None else 0
    said = {"trouble": seen.trouble, "kind": seen.kind[:80], "text": seen.text[:_TEXT]}
    return {**said, "line": line, "values": encode(list(seen.values))}
