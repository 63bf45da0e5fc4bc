"""A session of which the judge sees who runs what with whom: the runs end when it says so.

As `lessons.four_ways.exercises.meeting` has it for a learner's own check. Which thread asks for a
run is not seen; what is under way at one time, and what is asked for when the function has
returned, is.
"""

from __future__ import annotations

import math
from typing import Any

from helpers.checks.spec import Case, Exercise, Observation
from helpers.engine.own_time import Late, Limit
from helpers.engine.processes import readable
from helpers.instructor.judge.channel import Channel, Violation, observed, without_end
from helpers.worker.frames import Closed

# So many looks in a row at which every thread of the answer is asleep, and nobody comes any more:
_ALONE = 15  # a run that has met no other by then counts as alone
_RETURN = 2  # a function that waits for nobody has returned by then
_GRACE = 3  # a thread that goes on has shown itself by then, where not all is done
_MOST = 60  # updates


class Still(Late):
    """Everybody sleeps."""


class UntilStill(Limit):
    """A call's limit that ends as well where everybody has been asleep for some looks."""

    def __init__(self, of: Limit, looks: int) -> None:
        super().__init__(of.own, of.seconds)
        self._of, self._looks, self.own.still = of, looks, 0

    def check(self, waited: float = math.inf) -> None:
        self._of.check(waited)
        if self.own.still >= self._looks:
            self.own.still = 0
            raise Still


class Meeting:
    """The runs of one case. slow: op 0 takes as long as the others need to reach `last`."""

    def __init__(self, ops: int, last: int, slow: bool) -> None:
        self.last, self.slow = last, slow
        self.runs = [0] * ops
        self.alone = self.count = self.looked = 0
        self.much = self.held = False
        self.waiting: list[tuple[int, int]] = []  # the run's number, its op
        self._kept = False  # whether the runs that reach `last` are kept under way

    def look(self) -> int:
        """The step."""
        self.looked += 1
        return self.count

    def begin(self, number: int, op: int) -> None:
        """A run begins."""
        self.runs[op] += 1
        self.waiting.append((number, op))

    @property
    def looks(self) -> int | None:
        """How many looks at sleepers are waited for; None where nobody waits for anybody."""
        if self._kept and self.count < self.last:
            return _RETURN
        return _ALONE if self.waiting else None

    def ended(self, still: bool = False) -> list[tuple[int, int]]:
        """The runs that end now, with the step at each one's end. still: nobody comes any more."""
        if self.slow and not self.held:
            return self._past_the_slow(still)
        here = {op for _, op in self.waiting}
        if not here or (len(here) < len(self.runs) and not still and not self.alone):
            return []
        if not still and self.count < self.last <= self.count + len(here):
            self._kept = True
            return []
        self.alone += len(here) < len(self.runs)
        self.count += len(here)
        return self._end(self.waiting)

    def _past_the_slow(self, still: bool) -> list[tuple[int, int]]:
        found = list[tuple[int, int]]()
        if still:
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

    def _end(self, some: list[tuple[int, int]]) -> list[tuple[int, int]]:
        self.waiting = [each for each in self.waiting if each not in some]
        return [(number, self.count) for number, _ in some]


def observe_meeting(
    channel: Channel, exercise: Exercise, case: Case, seconds: float
) -> Observation:
    """One case of a function that runs ops in threads of its own."""
    ops, last, *slow = case.args[0]
    meeting = Meeting(ops, last, bool(slow))
    try:
        number = channel.begin(seconds)
        told = {"function": exercise.function, "ops": ops, "last": last}
        channel.send({"do": "threads", "call": number, **told})
        _serve(channel, meeting)
        left = _left_open(channel, meeting)
        channel.send({"last": True})
        while (message := channel.answer(0, "op"))["op"] == "run":
            pass  # it came after the end
        ended = observed(_args(message, "end", 1))
    except (Late, Closed, Violation) as error:
        return without_end(error)
    if ended.trouble:
        return ended
    seen = {"runs": meeting.runs, "alone": meeting.alone, "open": left, "much": meeting.much}
    seen |= {"threads": None, "here": None, "looks": meeting.looked, "held": meeting.held}
    return Observation(values=[{**seen, "step": meeting.count}])


def _serve(channel: Channel, meeting: Meeting) -> None:
    """Answer, until the function has returned."""
    while True:
        message = _next(channel, meeting.looks)
        if message is not None and message["op"] == "return":
            return
        if message is not None:
            _take(channel, meeting, message)
        _end(channel, meeting, meeting.ended(message is None))


def _left_open(channel: Channel, meeting: Meeting) -> int:
    """How many threads go on after the return; none where the step is reached and nobody runs."""
    if meeting.count >= meeting.last and not meeting.waiting:
        return 0
    looked = meeting.looked
    for _ in range(_MOST):  # who goes on for ever has shown itself long before
        if (message := _next(channel, _GRACE)) is None:
            break
        _take(channel, meeting, message)
    return max(len(meeting.waiting), int(meeting.looked > looked))


def _next(channel: Channel, looks: int | None) -> dict[str, Any] | None:
    """The next message; None where everybody has been asleep for so many looks without one."""
    whole = channel.limit
    if looks is not None:
        channel.limit = UntilStill(whole, looks)
    try:
        while True:
            try:
                return channel.answer(0, "op")
            except Still:
                if not readable(channel.child.socket):  # it may have come just before the look
                    return None
    finally:
        channel.limit = whole


def _take(channel: Channel, meeting: Meeting, message: dict[str, Any]) -> None:
    """One run: the step at once, an update when it has met the others."""
    number, fetch = _args(message, "run", 2)
    if type(number) is not int or type(fetch) is not str:
        raise Violation("no run")
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
    for number, step in ended:
        channel.send({"number": number, "value": step})


def _args(message: dict[str, Any], op: str, count: int) -> list[Any]:
    args = message.get("args")
    if message["op"] != op or type(args) is not list or len(args) != count:
        raise Violation("a request of another kind")
    return args
