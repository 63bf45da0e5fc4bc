"""A slot: a process that holds one judge and grades what it is given, one submission at a time.

Started as `python -m helpers.instructor.grading.slot JSON` with the settings of `Settings`. Lines
of JSON go both ways on one socket. It ends when its parent does, whatever ends that.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import socket
import sys
import threading
import traceback
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from helpers.instructor.sandbox import cores

MOST_SLOTS = 700  # of all graders on one machine; the sandboxes' user ids end there
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Settings:
    """What a slot is started with. socket: a descriptor. parent: the grader's process id. judge:
    "module:name" of a class that is made and used as `helpers.instructor.judge.Judge`. mistakes:
    the class's own, as a table.
    """

    socket: int
    parent: int
    number: int
    lesson: str
    mode: str
    judge: str
    mistakes: str = ""

    def as_json(self) -> str:
        """As one argument."""
        return json.dumps(asdict(self))


def main(argument: str) -> None:
    """Grade until told to end."""
    settings = Settings(**json.loads(argument))
    end_with(settings.parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the grader's to handle
    channel = socket.socket(fileno=settings.socket)
    channel.set_inheritable(False)
    work = listen(channel)
    with contextlib.ExitStack() as kept:
        try:
            name, _, attribute = settings.judge.partition(":")
            make = getattr(import_module(name), attribute)
            number = own_number(settings.number, kept)
            cores.stay_on_one(number)
            judge = make(settings.lesson, settings.mode, number)
            kept.callback(judge.close)
            if settings.mistakes:
                judge.learn(settings.mistakes)
        except Exception as error:
            traceback.print_exc()
            say(channel, {"unable": f"{type(error).__name__}: {error}"})
            return
        say(channel, {"ready": True})
        while (job := work.get()) is not None:
            say(channel, graded(judge, job))


def end_with(parent: int) -> None:
    """Let the system kill this process when its parent ends. Linux only; `listen` sees it too."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it ended before we could ask


def listen(channel: socket.socket) -> queue.SimpleQueue[dict[str, Any] | None]:
    """What the grader sends, as it comes; None is the end. Kills this process with its parent."""
    work: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def read() -> None:
        with channel.makefile("rb") as lines:
            for line in lines:
                work.put(json.loads(line))
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=read, daemon=True).start()
    return work


def own_number(wished: int, kept: contextlib.ExitStack) -> int:
    """A number that no other slot on this machine has, whichever grader it belongs to.

    The numbers are names of abstract sockets: the system gives one out once, and takes it back when
    the process ends. Elsewhere than on Linux it is the number wished for.
    """
    if sys.platform != "linux":
        return wished
    for number in range(MOST_SLOTS):
        holder = socket.socket(socket.AF_UNIX)
        try:
            holder.bind(f"\0distributed-course-slot-{number}")
        except OSError:
            holder.close()
            continue
        kept.enter_context(holder)
        return number
    raise RuntimeError(f"{MOST_SLOTS} slots are at work on this machine already.")


def graded(judge: Any, job: dict[str, Any]) -> dict[str, Any]:
    """The answer to one job: its grade, or the judge's own failure (in full in the log)."""
    try:
        made = judge.grade(Path(job["path"]), job["submission"], job["seed"])
    except Exception as error:
        print(f"While grading {job['submission']!r}:", file=sys.stderr)
        traceback.print_exc()
        return {"failed": type(error).__name__}
    return {"grade": made.grade.as_json(), "seconds": made.seconds, "crashes": made.crashes}


def say(channel: socket.socket, message: dict[str, Any]) -> None:
    """Send one line to the grader."""
    channel.sendall(json.dumps(message).encode("ascii") + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
