"""How long a run is waited for: as long as is said, and longer where many share the cores."""

from __future__ import annotations

import os

PATIENCE = "COURSE_PATIENCE"


def patient(seconds: float) -> float:
    """`seconds`, times what COURSE_PATIENCE in the environment says, 1 where it says nothing.

    A time-out is there to end what hangs. Where five notebooks share two cores, as under the tests,
    or a class one server, what is only slow would be ended, too.
    """
    return seconds * float(os.environ.get(PATIENCE, "1"))
