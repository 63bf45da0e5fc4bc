"""How often a measurement is repeated: as often as it asks for, but less under the tests."""

from __future__ import annotations

import os

MOST_REPEATS = "COURSE_MOST_REPEATS"


def enough(repeats: int) -> int:
    """`repeats`, or as many as COURSE_MOST_REPEATS in the environment allows.

    The tests, which run the lessons and compare no time, need few.
    """
    return min(repeats, int(os.environ.get(MOST_REPEATS, repeats)))
