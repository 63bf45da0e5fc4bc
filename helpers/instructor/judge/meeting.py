"""A session of which the judge sees who runs what with whom: the runs end when it says so.

As `drives_four_ways_threads` has it for a learner's own check. Which thread asks for a run is not
seen; what is under way at one time, and what is asked for when the function has returned, is.
"""

from __future__ import annotations

import time
from typing import Any

from helpers.engines.patience import patient
from helpers.exercises.spec import Case, Exercise, Observation
from helpers.instructor.judge.channel import Channel, Violation
from helpers.instructor.judge.replies import observed, without_end
from helpers.worker.frames import Closed, Late

_PATIENCE = 1.5  # seconds for all to come; a run that meets no other after that counts as alone
_RETURN = 0.1  # seconds in which a function that waits for nobody has returned
_GRACE = 0.3  # seconds in which a thread that goes on shows itself, where not all is done
_MOST = 60  # updates


class Meeting:
    """The runs of one case. slow: op 0 takes as long as the others need to reach `last`."""

    def __init__(self, ops: int, last: int, slow: bool) -> None:
        self.last, self.slow = last, slow
        self.runs = [0] * ops
        self.alone = self.count = self.looks = 0
        self.much = self.held = False
        self.waiting: list[tuple[int, int, float]] = []  # the run's number, its op, since when
        self._kept = 0.0  # until when the runs that reach `last` are kept under way

    def look(self) -> int:
        """The step."""
        self.looks += 1
        return self.count

    def begin(self, number: int, op: int) -> None:
        """A run begins."""
        self.runs[op] += 1
        self.waiting.append((number, op, time.monotonic()))

    @property
    def until(self) -> float:
        """When somebody will have waited for too long; no end where nobody waits."""
        if self._kept and self.count < self.last:
            return self._kept
        return min((since for *_, since in self.waiting), default=float("inf")) + patient(_PATIENCE)

    def ended(self, late: bool = False) -> list[tuple[int, int]]:
        """The runs that end now, with the step at each one's end. late: `until` has come."""
        if self.slow and not self.held:
            return self._past_the_slow(late)
        here = {op for _, op, _ in self.waiting}
        if not here or (len(here) < len(self.runs) and not late and not self.alone):
            return []
        if not late and self.count < self.last <= self.count + len(here):
            self._kept = self._kept or time.monotonic() + patient(_RETURN)
            if time.monotonic() < self._kept:
                return []
        self.alone += len(here) < len(self.runs)
        self.count += len(here)
        return self._end(self.waiting)

    def _past_the_slow(self, late: bool) -> list[tuple[int, int]]:
        found = list[tuple[int, int]]()
        if late:
            self.held = True
            self.count += len(self.waiting)
            return self._end(self.waiting)
        while True:
            # The others' first runs end when op 0 has begun, or it might find nothing left to do.
            through = [
                each
                for each in self.waiting
                if (self.count >= self.last if each[1] == 0 else self.runs[0] > 0)
            ]
            if not through:
                return found
            self.count += 1
            found += self._end(through[:1])

    def _end(self, some: list[tuple[int, int, float]]) -> list[tuple[int, int]]:
        self.waiting = [each for each in self.waiting if each not in some]
        return [(number, self.count) for number, *_ in some]


def observe_meeting(
    channel: Channel, exercise: Exercise, case: Case, seconds: float
) -> Observation:
    """One case of a function that runs ops in threads of its own."""
    ops, last, *slow = case.args[0]
    meeting = Meeting(ops, last, bool(slow))
    try:
        deadline = time.monotonic() + seconds
        number = channel.begin(deadline)
        told = {"function": exercise.function, "ops": ops, "last": last}
        channel.send({"do": "threads", "call": number, **told})
        _serve(channel, meeting, deadline)
        left = _left_open(channel, meeting, deadline)
        channel.deadline = deadline
        channel.send({"last": True})
        while (message := channel.answer(0, "op"))["op"] == "run":
            pass  # it came after the end
        (trouble,) = _args(message, "end", 1)
    except (Late, Closed, Violation) as error:
        return without_end(error)
    if trouble is not None:
        return observed([trouble])
    seen = {"runs": meeting.runs, "alone": meeting.alone, "open": left, "much": meeting.much}
    seen |= {"threads": None, "here": None, "looks": meeting.looks, "held": meeting.held}
    return Observation(values=[{**seen, "step": meeting.count}])


def _serve(channel: Channel, meeting: Meeting, deadline: float) -> None:
    """Answer, until the function has returned."""
    while True:
        message = _next(channel, meeting, min(meeting.until, deadline))
        if message is not None and message["op"] == "return":
            return
        if message is None and time.monotonic() >= deadline:
            raise Late
        if message is not None:
            _take(channel, meeting, message)
        _end(channel, meeting, meeting.ended(message is None))


def _left_open(channel: Channel, meeting: Meeting, deadline: float) -> int:
    """How many threads go on after the return; none where the step is reached and nobody runs."""
    if meeting.count >= meeting.last and not meeting.waiting:
        return 0
    looked = meeting.looks
    until = min(time.monotonic() + _GRACE, deadline)
    while (message := _next(channel, meeting, until)) is not None:
        _take(channel, meeting, message)
    return max(len(meeting.waiting), int(meeting.looks > looked))


def _next(channel: Channel, meeting: Meeting, until: float) -> dict[str, Any] | None:
    """The next message; None where none has come by then."""
    channel.deadline = until
    try:
        return channel.answer(0, "op")
    except Late:
        return None


def _take(channel: Channel, meeting: Meeting, message: dict[str, Any]) -> None:
    """One run: the step at once, an update when it has met the others."""
    number, fetch = _args(message, "run", 2)
    if type(number) is not int or type(fetch) is not str:
        raise Violation("no run")
    channel.deadline = time.monotonic() + _PATIENCE
    text = fetch.removeprefix("update_")
    if fetch == "step":
        channel.send({"number": number, "value": meeting.look()})
    elif text not in map(str, range(len(meeting.runs))):
        said = f"The session has no op {fetch!r}."
        channel.send({"number": number, "error": ["ValueError", said]})
    elif meeting.count > _MOST:
        meeting.much = True
        channel.send({"number": number, "error": ["Enough", ""]})
    else:
        meeting.begin(number, int(text))


def _end(channel: Channel, meeting: Meeting, ended: list[tuple[int, int]]) -> None:
    channel.deadline = time.monotonic() + _PATIENCE
    for number, step in ended:
        channel.send({"number": number, "value": step})


def _args(message: dict[str, Any], op: str, count: int) -> list[Any]:
    args = message.get("args")
    if message["op"] != op or type(args) is not list or len(args) != count:
        raise Violation("a request of another kind")
    return args
