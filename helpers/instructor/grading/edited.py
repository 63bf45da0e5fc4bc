"""What people edit while a folder is watched: the class list and the points set by hand."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

from helpers.instructor.grading import GradingError, overrides
from helpers.instructor.grading.arrivals import STILL, Clock, Look, Stillness, look_of
from helpers.instructor.grading.overrides import Overrides
from helpers.instructor.grading.roster import read_roster
from helpers.instructor.grading.run import Terms


class Telling:
    """Says each trouble once, and once that it is over. at: when something was said last."""

    def __init__(self, say: Callable[[str], None], clock: Clock = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self.at = -math.inf
        self._trouble: dict[str, str] = {}

    def say(self, line: str) -> None:
        """A line."""
        self._say(line)
        self.at = self._clock()

    def trouble(self, what: str, said: str) -> None:
        """It is there."""
        if self._trouble.get(what) != said:
            self._trouble[what] = said
            self.say(said)

    def well(self, what: str, said: str) -> None:
        """There is none, or none any more."""
        if self._trouble.pop(what, None) is not None:
            self.say(said)


class Edited:
    """The class list and the overrides as they last were right. A file that is just being written
    is let be.

    roster: None without one. coming: whether one is just being written. Raises GradingError where
    the class list is wrong at the start.
    """

    def __init__(
        self, by: Terms, out: Path, telling: Telling, clock: Clock = time.monotonic
    ) -> None:
        self.by, self.out, self.telling = by, out, telling
        listed, lesson = by.wish.roster, by.wish.lesson
        self.roster = None if listed is None else read_roster(listed, lesson)
        self._stillness, self._seen = Stillness(clock), dict[Path, Look]()
        self.coming = False
        self._by_hand: Overrides | None = None
        self._read: tuple[list[str], Look] | None = None

    def look(self) -> bool:
        """Whether one of them has changed."""
        listed = self.by.wish.roster
        self.coming = False
        changed = self._is_new(self.out / overrides.FILE)
        if listed is not None and self._is_new(listed):
            try:
                self.roster, changed = read_roster(listed, self.by.wish.lesson), True
                self.telling.well("roster", f"{listed} is taken up.")
            except GradingError as error:
                self.telling.trouble("roster", f"{error} The one from before still counts.")
        return changed

    def by_hand(self, names: list[str]) -> Overrides | None:
        """The points set by hand, those from before where the file is wrong; None if that is all.

        names: of all submissions.
        """
        path = self.out / overrides.FILE
        now = names, self._seen.get(path, ())
        if now != self._read:
            self._read = now
            try:
                self._by_hand = overrides.read(self.out, names, self.by.points)
                self.telling.well("overrides", f"{path} is taken up.")
            except GradingError as error:
                kept = (
                    "There are no pages before that is put right"
                    if self._by_hand is None
                    else "The points from before still count"
                )
                self.telling.trouble("overrides", f"{error} {kept}; grading goes on.")
        return self._by_hand

    def _is_new(self, path: Path) -> bool:
        """Whether it is otherwise than at the last time, and nobody is writing it."""
        try:
            look = look_of(path)
        except OSError as error:
            look = (error.strerror,)
        first = path not in self._seen
        still = self._stillness.seconds(str(path), look)
        if self._seen.get(path) == look:
            return False
        if still < STILL and not first:
            self.coming = True
            return False
        self._seen[path] = look
        return not first
