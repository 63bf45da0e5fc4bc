"""One case of one exercise in the submission's processes.

The driver runs there, beside the answer. What it gives is a stranger's values, compared here with
the right ones; what is handed over is computed here, and ranks talk over the judge's network.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from helpers.checks.compare import Other
from helpers.checks.drives.built import Built
from helpers.checks.drives.handed import Handed, told
from helpers.checks.drives.ranks import Apart, Ranked, clock_of
from helpers.checks.drives.values import plain, tensors
from helpers.checks.encoding import encode
from helpers.checks.spec import Case, Exercise, Observation, Trouble
from helpers.engine.own_time import PATIENCE
from helpers.grade.judge.channel import OVER, Channel, Lane, observed, threads, without_end
from helpers.grade.judge.network import observe_ranks
from helpers.grade.judge.session import Session
from helpers.grade.sandbox.visible import driver_name

USED_UP = "used up the time of all its cases"
_STRANGE = Observation(values=[Other("value that no driver gives")])


def observe(exercise: Exercise, case: Case, session: Session, alone: bool = False) -> Observation:
    """What the submission does in one case, a function's value or a run of ranks.

    alone: by the word of its own process, as a learner's check has it; for hints.
    After trouble its processes are in no known state: they are ended. Until then they last, and
    so does what they have written: an answer may remember earlier cases, and knows of no later one.
    """
    clock = session.clock
    if clock.hopeless:
        return Observation(trouble="not judged")
    channels = session.channels(case.ranks)
    if not channels:
        trouble: Trouble = "not judged" if session.undecided else "died"
        return Observation(trouble=trouble, text="it ended while the cells ran again.")
    seconds = clock.call
    if seconds <= 0:
        return Observation(trouble="timeout", text=USED_UP)
    seen = _observe(channels, exercise, case, session, seconds, alone)
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
    alone: bool,
) -> Observation:
    """By the exercise's kind of driver."""
    drive = exercise.drive
    if isinstance(drive, Ranked):
        return observe_ranks(channels, exercise, drive, case, seconds, alone)
    if isinstance(drive, Apart):
        return _observe_apart(channels, exercise, case, seconds)
    if isinstance(drive, Built):
        return _observe_built(exercise, drive, case, session, seconds)
    if isinstance(drive, Handed) and not alone:
        return _observe_handed(channels[0], exercise, drive, case, seconds)
    return _ask_case(channels[0], exercise, case, seconds, local=True)


def _observe_handed(
    channel: Channel, exercise: Exercise, drive: Handed, case: Case, seconds: float
) -> Observation:
    """One case of a function that is handed others, which are called here."""
    (args,) = case.args
    hands = drive.hands(*tensors(args))
    blind = replace(case, args=(told(args, drive.hands),))
    seen = _ask_case(channel, exercise, blind, seconds, hands=hands)
    if len(seen.values) == 1:
        try:
            seen.values = [plain(hands.noted(seen.values[0]))]
        except Exception:  # the value may be anything at all
            return _STRANGE
    return seen


def _observe_built(
    exercise: Exercise, drive: Built, case: Case, session: Session, seconds: float
) -> Observation:
    """One case of a function that builds a graph, which is then run elsewhere.

    The submission's process is told what it needs for building. What it gives is data: the clean
    process has the case, without the facts, and tells what the graph does.
    """
    (mine,) = session.channels(1)
    seen = _ask_case(mine, exercise, drive.told(case), seconds)
    if seen.trouble:
        return seen
    if len(seen.values) != 1 or type(seen.values[0]) is not dict:
        return _STRANGE
    left, built = seconds - mine.limit.look(), encode(seen.values[0])
    return _ask_case(session.clean(), exercise, case, left, do="look", built=built)


def _observe_apart(
    channels: list[Channel], exercise: Exercise, case: Case, seconds: float
) -> Observation:
    """One case of a function that is told its rank: each rank's calls in a process of its own."""
    lists: list[Any] = []
    for rank, channel in enumerate(channels):
        mine = replace(case, options={**case.options, "rank": rank})
        seen = _ask_case(channel, exercise, mine, seconds)
        seconds -= channel.limit.look()
        if seen.trouble:
            return seen if seen.trouble == "signature" else replace(seen, rank=rank)
        lists.append(seen.values[0] if seen.values else None)
    if not all(type(items) is list and len(items) == len(lists[0]) for items in lists):
        return _STRANGE
    if not all(type(item) is list and len(item) == 1 for items in lists for item in items):
        return _STRANGE
    return Observation(values=[[[item[0] for item in items] for items in zip(*lists, strict=True)]])


def _ask_case(
    channel: Channel,
    exercise: Exercise,
    case: Case,
    seconds: float,
    hands: Any = None,
    do: str = "call",
    **details: Any,
) -> Observation:
    """One case of an ordinary function, in one process."""
    args, options = encode(list(case.args[0])), encode(dict(case.options))
    asked = {"args": args, "options": options, **details}
    return _ask(channel, exercise, do, seconds, hands, **asked)


def _ask(
    channel: Channel, exercise: Exercise, do: str, seconds: float, hands: Any = None, **details: Any
) -> Observation:
    """One request to one process, and what comes of it."""
    at_once = hands is not None and hands.at_once
    served = threads(channel, hands) if at_once else nullcontext(())
    request = {"do": do, "function": exercise.function, "drive": driver_name(exercise.drive)}
    try:
        channel.begin(seconds)
        with served as fds:
            channel.send({**request, "at once": at_once, **details}, fds)
            return observed(Lane(channel, hands).serve(), real=do == "real")
    except OVER as error:
        return without_end(error)


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
    seen = _ask(channels[0], exercise, "real", seconds, args=args, hosts=hosts, limit=last)
    if seen.trouble:
        session.give_up(seen.trouble in ("timeout", "died"))
    return seen
