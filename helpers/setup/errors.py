"""The errors that set-up tells its user about."""

from __future__ import annotations


class SetupFailed(Exception):
    """Set-up cannot go on; the message says what is wrong and what to do."""


class DiskFull(SetupFailed):
    """There is no room for the step; it may be tried again once there is."""
