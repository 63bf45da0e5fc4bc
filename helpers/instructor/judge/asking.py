"""One request to one of a submission's processes, and what it answers."""

from __future__ import annotations

from typing import Any

from helpers.checks.spec import Exercise, Observation
from helpers.instructor.drivers import driver_name
from helpers.instructor.judge.channel import Channel, Violation
from helpers.instructor.judge.replies import observed, without_end
from helpers.worker.frames import Closed, Late


def ask(
    channel: Channel, exercise: Exercise, what: str, seconds: float, **details: Any
) -> Observation:
    """One request to one process and its observation."""
    try:
        number = channel.begin(seconds)
        call = {"do": what, "call": number, "function": exercise.function}
        channel.send({**call, "drive": driver_name(exercise.drive), **details})
        return observed([channel.answer(0, "seen")["seen"]], real=what == "real")
    except (Late, Closed, Violation) as error:
        return without_end(error)
