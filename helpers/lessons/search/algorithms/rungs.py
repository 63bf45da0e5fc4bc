"""The rungs of a search, and the jobs by which trials climb them."""

from __future__ import annotations

from typing import NamedTuple


class Job(NamedTuple):
    """Train a trial from rung − 1's steps to `resource` steps in all. rung: from 0."""

    trial: int
    rung: int
    resource: int


def rungs(least: int, most: int, factor: int) -> list[int]:
    """What trials are trained up to: least, least·η, least·η² … as long as it is no more than most.

    factor: η, of how many trials one goes on. Raises ValueError unless 1 ≤ least ≤ most and η ≥ 2.
    """
    if not 1 <= least <= most or factor < 2:
        raise ValueError(
            f"Rungs go from least = {least} up to most = {most} by a factor of {factor}: it takes "
            "1 ≤ least ≤ most and a factor of 2 or more."
        )
    found = [least]
    while found[-1] * factor <= most:
        found.append(found[-1] * factor)
    return found
