"""One case of one exercise in the submission's processes."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import Any

from helpers.checks.compare import Other
from helpers.checks.drives.built import Built
from helpers.checks.drives.calling import failed, is_inside
from helpers.checks.drives.ranks import Apart, Ranked, clock_of
from helpers.checks.drives.threads import Threaded
from helpers.checks.spec import Case, Exercise, Observation
from helpers.engine.own_time import PATIENCE
from helpers.instructor.judge.asking import ask
from helpers.instructor.judge.budgets import Clock
from helpers.instructor.judge.built import observe_built
from helpers.instructor.judge.channel import Channel, Violation
from helpers.instructor.judge.exchange import Exchange
from helpers.instructor.judge.handing import Handing
from helpers.instructor.judge.meeting import observe_meeting
from helpers.instructor.judge.network import observe_ranks
from helpers.instructor.judge.remote import RemoteFunction, Talk
from helpers.instructor.judge.replies import without_end
from helpers.instructor.judge.session import Session
from helpers.worker.encoding import Malformed, encode
from helpers.worker.frames import Closed, Late

OVER = "used up the time of all its cases"


def observe(
    exercise: Exercise, case: Case, session: Session, clock: Clock, inside: bool = False
) -> Observation:
    """What the submission does in one case, a function's value or a run of ranks.

    inside: by the word of its own process, as a learner's check has it; for hints.
    After trouble its processes are in no known state: they are ended.
    """
    channels = [] if clock.hopeless else session.channels(case.ranks)
    if not channels and (clock.hopeless or session.undecided):
        return Observation(trouble="not judged")
    if not channels:
        return Observation(trouble="died", text="it ended while the cells ran again.")
    seconds = clock.call
    if seconds <= 0:
        return Observation(trouble="timeout", text=OVER)
    seen = _observe(channels, exercise, case, session, seconds, inside)
    clock.take(max(channel.settle() for channel in channels))
    if seen.trouble == "not judged":
        clock.not_judged()
    if seen.trouble:  # other ranks are in the middle of theirs, or what it has forked goes on
        session.give_up(seen.trouble in ("timeout", "died"))
    return seen


def _observe(
    channels: list[Channel],
    exercise: Exercise,
    case: Case,
    session: Session,
    seconds: float,
    inside: bool,
) -> Observation:
    """By the exercise's kind of driver."""
    drive = exercise.drive
    if isinstance(drive, Ranked):
        return observe_ranks(channels, drive, exercise.function, case, seconds, inside)
    if isinstance(drive, Apart):
        return observe_apart(channels, exercise, case, seconds, inside)
    if isinstance(drive, Built):
        return observe_built(exercise, drive, case, session, seconds)
    if inside or is_inside(drive, case):
        seen = _ask_case(channels[0], exercise, case, seconds)
        if not inside:
            seen.values = without(seen.values, exercise.unseen)
            seen.values = [_seen(exercise, each) for each in seen.values]
        return seen
    if isinstance(drive, Threaded):
        return observe_meeting(channels[0], exercise, case, seconds)
    return drive_case(channels[0], exercise, case, seconds)


def without(value: Any, unseen: Container[str]) -> Any:
    """A value without what decides no points: None stands for it."""
    if type(value) in (list, tuple):
        return type(value)(without(each, unseen) for each in value)
    if type(value) is dict:
        return {k: None if k in unseen else without(v, unseen) for k, v in value.items()}
    return value


def observe_apart(
    channels: list[Channel],
    exercise: Exercise,
    case: Case,
    seconds: float,
    inside: bool = False,
) -> Observation:
    """One case of a function that is told its rank: each rank's calls in a process of its own."""
    lists: list[Any] = []
    for rank, channel in enumerate(channels):
        mine = replace(case, options={**case.options, "rank": rank})
        seen = (_ask_case if inside else drive_case)(channel, exercise, mine, seconds)
        seconds -= channel.taken()
        if seen.trouble:
            return seen if seen.trouble == "signature" else replace(seen, rank=rank)
        lists.append(seen.values[0] if seen.values else None)
    if not all(type(items) is list and len(items) == len(lists[0]) for items in lists):
        return Observation(values=[Other("value that no driver gives")])
    if not all(type(item) is list and len(item) == 1 for items in lists for item in items):
        return Observation(values=[Other("value that no driver gives")])
    return Observation(values=[[[item[0] for item in items] for items in zip(*lists, strict=True)]])


def drive_case(channel: Channel, exercise: Exercise, case: Case, seconds: float) -> Observation:
    """One case of an ordinary function: the driver here, the function in its process."""
    handing = Handing(None, None)
    exchange = Exchange(channel, handing, {})
    fn = RemoteFunction(Talk(exchange, handing, None), exercise.function)
    try:
        number = channel.begin(seconds)
        channel.send({"do": "case", "call": number, "function": exercise.function, "rank": None})
        seen = exercise.drive(fn, case)
        channel.send({"lane": 0, "last": True})
        return seen
    except (Late, Closed, Violation, Malformed) as error:
        return without_end(error)
    except Exception as error:  # a driver's, at what the function gave
        return failed(error, fn)


def _ask_case(channel: Channel, exercise: Exercise, case: Case, seconds: float) -> Observation:
    """One case of an ordinary function, in one process."""
    args, options = encode(list(case.args[0])), encode(dict(case.options))
    return ask(channel, exercise, "call", seconds, args=args, options=options)


def _seen(exercise: Exercise, value: Any) -> Any:
    """What a driver in the submission's process gives, without what it alone could know."""
    if type(value) is not dict:
        return value
    return {key: None if key in exercise.unseen else held for key, held in value.items()}


def observe_on_real_ranks(
    exercise: Exercise, case: Case, session: Session, seconds: float
) -> Observation:
    """What the submission does in one case on real ranks, processes of one sandbox.

    It is the child's word for everything, so it can cost points and earn none.
    """
    channels = session.channels(1)
    if not channels:
        return Observation(trouble="not judged" if session.undecided else "died")
    args = encode([list(each) for each in case.args])
    asked = clock_of(case).get("network")
    hosts = list(asked.hosts) if asked else None
    last = PATIENCE * seconds  # what ends in time ends from here
    seen = ask(channels[0], exercise, "real", seconds, args=args, hosts=hosts, limit=last)
    if seen.trouble:
        session.give_up(seen.trouble in ("timeout", "died"))
    return seen
