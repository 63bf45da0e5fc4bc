"""Whether sandboxes work on this machine."""

from __future__ import annotations


def missing() -> str | None:
    """None where they do; otherwise a sentence: what is missing, and what to type. Tries it."""
    return None
