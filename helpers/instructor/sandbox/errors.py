"""The one error of this package."""

from __future__ import annotations


class SandboxError(Exception):
    """A sandbox cannot be started; the message says why and what to do."""
