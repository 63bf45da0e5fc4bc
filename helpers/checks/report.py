"""Parts of a report that are graded as well: of the notebook as a whole, not of a function.

A lesson that ends in a report has them in its room, as `PARTS`; see `lessons.capstone`.
"""

from dataclasses import dataclass
from importlib import import_module

from helpers.rooms import rooms


@dataclass(frozen=True)
class Part:
    """One part. number: as an exercise's, after the last of them. rubric: what its points are for.

    by_hand: read by the instructor, who gives the points in `overrides.csv`.
    """

    number: str
    title: str
    points: float
    rubric: tuple[str, ...]
    by_hand: bool = False


def parts_of(lesson: str) -> tuple[Part, ...]:
    """The parts of a lesson's report; none where it has none."""
    room = vars(import_module(rooms()[lesson])) if lesson in rooms() else {}
    return room.get("PARTS", ())
