"""A folder that is looked at again and again: what is whole in it, and what is still on its way.

It is looked at, and no events are asked for: network file systems give none, and a look at 300
submissions takes milliseconds. Times are this machine's own: a file server's clock may be wrong.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers.instructor.grading import GradingError
from helpers.instructor.grading.discover import CANNOT, Submission, discover
from helpers.instructor.grading.store import contents

STILL = 2.0  # seconds without a change, and a notebook that can be parsed is whole
BROKEN = 10.0  # seconds, and anything else is taken for what it will stay
QUICK = 8 * 2**20  # bytes; whether more than these can be parsed is the judge's to find out

Look = tuple[Any, ...]
Clock = Callable[[], float]
Take = Callable[[Submission, "bytes | OSError | None"], None]


class Stillness:
    """For how long each thing has looked as it does."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[str, tuple[Look, float]] = {}

    def seconds(self, what: str, look: Look) -> float:
        """How long it has; 0 where it looks otherwise than the last time."""
        now = self._clock()
        known = self._since.get(what)
        if known is None or known[0] != look:
            self._since[what] = known = (look, now)
        return now - known[1]

    def forget(self, what: str) -> None:
        """It is new when it is seen again."""
        self._since.pop(what, None)


def look_of(path: Path) -> Look:
    """What changes with a file's contents: its size and its time. Raises OSError."""
    found = os.stat(path, follow_symlinks=False)
    return found.st_size, found.st_mtime_ns


class Arrivals:
    """The submissions of a folder. here: all of them by id, each as it was when it last was whole.

    coming: ids of those that are not whole yet, or are again being written. going: of those that
    are not there any more, and for a moment still count.
    """

    def __init__(self, folder: Path, lesson: str, clock: Clock = time.monotonic) -> None:
        self.folder, self.lesson = folder, lesson
        self.here: dict[str, Submission] = {}
        self.coming: set[str] = set()
        self.going: set[str] = set()
        self._whole: dict[str, tuple[Submission, Look]] = {}
        self._stillness, self._gone = Stillness(clock), Stillness(clock)

    def is_whole(self, identity: str) -> bool:
        """Whether a submission was whole once."""
        return identity in self._whole

    def look(self, take: Take) -> bool:
        """Look at the folder; whether something is otherwise than before.

        take: is given each submission that came to rest, with the notebook's contents, why these
        cannot be read, or None where there is no notebook. Raises GradingError where the folder is
        not there or cannot be read: then all is as before.
        """
        if not self.folder.is_dir():
            raise GradingError(f"There is no folder {self.folder}.")
        try:
            found = {one.id: one for one in discover(self.folder, self.lesson)}
        except OSError as error:
            raise GradingError(f"{self.folder} {CANNOT} ({error.strerror}).") from None
        if not found and self.here:
            raise GradingError(f"All submissions are gone from {self.folder}.")
        before = dict(self.here), set(self.coming)
        self.going = set()
        for identity in [one for one in self.here if one not in found]:
            if self.is_whole(identity) and self._gone.seconds(identity, ()) < STILL:
                self.going.add(identity)  # it may be on its way to another place
                found[identity] = self.here[identity]
            else:
                self._whole.pop(identity, None)
                self._stillness.forget(identity)
        self.coming = {identity for identity, one in found.items() if not self._rests(one, take)}
        self.here = {
            identity: self._whole[identity][0] if identity in self._whole else one
            for identity, one in found.items()
        }
        return before != (self.here, self.coming)

    def _rests(self, one: Submission, take: Take) -> bool:
        """Whether a submission is whole; it is handed on when it comes to rest."""
        known = self._whole.get(one.id)
        if known is not None and one is known[0]:
            return True  # it is gone, and stays for a moment
        self._gone.forget(one.id)
        lost = one.path is None and CANNOT in one.note
        if known is not None and known[0].path is not None and lost:
            return False  # a drive that went away in between
        try:
            look: Look = (one, *(look_of(one.path) if one.path else ()))
        except OSError as error:
            look = (one, error.strerror)
        if known is not None and known[1] == look:
            return True
        still = self._stillness.seconds(one.id, look)
        if still < STILL:
            return False
        held: bytes | OSError | None = None
        if one.path is not None:
            held = _read(one.path)
            if isinstance(held, bytes) and look[1:] != _look_again(one.path):
                return False
        if still < BROKEN and not (isinstance(held, bytes) and can_be_parsed(held)):
            return False
        self._whole[one.id] = one, look
        take(one, held)
        return True


def _read(path: Path) -> bytes | OSError:
    try:
        return contents(path)
    except OSError as error:
        return error


def _look_again(path: Path) -> Look:
    try:
        return look_of(path)
    except OSError:
        return ()


def can_be_parsed(data: bytes) -> bool:
    """Whether it is the whole of something: no part of a notebook is JSON, if it lacks the end."""
    if len(data) > QUICK:
        return False
    try:
        return isinstance(json.loads(data.decode("utf-8-sig")), dict)
    except (ValueError, RecursionError):
        return False
