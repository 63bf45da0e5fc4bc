"""A driver by its name, which is all that a sandbox is told of one that runs there."""

from __future__ import annotations

import sys
from typing import Any

from helpers.checks.drives.ranks import Apart, Ranked


def driver_name(drive: Any) -> str:
    """A driver as "module:name"."""
    home = (drive.call if isinstance(drive, Ranked | Apart) else drive).__module__
    for name, value in vars(sys.modules[home]).items():
        if value is drive:
            return f"{home}:{name}"
    raise LookupError(f"The driver {drive!r} is no name of {home}.")
