"""A process in the sandbox that has one submission: it runs cells and answers the judge's calls.

It says what happened; what that is worth is decided elsewhere. A learner's code shares this
process and may do to it whatever it likes.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from helpers.checks.drives.built import Built
from helpers.checks.drives.calling import failed
from helpers.checks.drives.handed import Handed
from helpers.checks.encoding import decode, encode
from helpers.checks.spec import Case, Observation
from helpers.grade.worker.frames import Closed, Frames
from helpers.grade.worker.remote_comm import HandsOf, Line, RemoteComm
from helpers.grade.worker.submission import Submission, own_names

_TEXT = 2000


def preload(frameworks: Sequence[str]) -> None:
    """Import what most submissions use, in the process from which the others are forked."""
    import IPython.core.inputtransformer2  # noqa: F401
    import torch.nn.functional

    import helpers
    import helpers.checks.drives.arguments
    import helpers.checks.drives.training

    torch.set_num_threads(1)
    if "tensorflow" in frameworks:
        from helpers.checks.drives.tf import split_cpu

        split_cpu()  # nothing is computed yet, and a submission's cells may do so
        # Loaded at the first use of an optimizer: seconds, for every rank of a run.
        import tf_keras  # noqa: F401
        import torch._dynamo

        from helpers.engine.autograph import keep_in_memory

        keep_in_memory()
    # An answer's own check and its stand-ins have no place here; a call of them does no harm.
    helpers.__dict__.update(check=_nothing, lesson=_nothing, mine_or_yours=_mine)


def _nothing(*args: Any) -> None:
    return None


def _mine(number: str, function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def serve(sock: socket.socket) -> None:
    """Answer until the judge has gone."""
    child = Child(Frames(sock, takes_fds=True))
    try:
        while True:
            child.answer(child.frames.read())
    except Closed:
        return


class Child:
    """A submission's names, and the connection to the judge."""

    def __init__(self, frames: Frames) -> None:
        self.frames = frames
        self.names = own_names()
        self._copies: dict[str, Any] = {}

    def answer(self, message: dict[str, Any]) -> None:
        """Do what a message asks for and say how it went."""
        line = Line(self.frames)
        if message["do"] == "cells":
            line.over(self._cells(message, line))
        else:
            do = {"call": self._call, "rank": self._rank, "look": self._look, "real": self._real}
            line.over(as_data(do[message["do"]](message, line)))

    def _cells(self, message: dict[str, Any], line: Line) -> dict[str, Any]:
        """Run what the functions need; say before each step which one it is.

        skip: what ended an earlier process, (cell, statement) or (cell, -1) for reading a cell.
        """

        def tell(*at: int) -> None:
            line.tell("at", *at)
            line.flush()

        skip = set(map(tuple, message["skip"]))
        submission = Submission(self.names, message["functions"], skip, tell)
        return submission.run(message["cells"])

    def _call(self, message: dict[str, Any], line: Line) -> Observation:
        """An ordinary function, or the building of a graph: the driver's observation."""
        drive, fn = _driver(message["drive"]), self.names[message["function"]]
        if isinstance(drive, Built):
            return drive.build(fn, _case(message))
        if isinstance(drive, Handed) and not message.get("local"):
            return drive(fn, _case(message), HandsOf(line, message["at once"]))
        return drive(fn, _case(message))

    def _look(self, message: dict[str, Any], line: Line) -> Observation:
        """A graph that was built elsewhere; here no cell has run."""
        built = decode(message["built"])
        return _driver(message["drive"]).look(_case(message), built)

    def _real(self, message: dict[str, Any], line: Line) -> Observation:
        """A whole run on real ranks, in this sandbox."""
        from helpers.grade.worker.real_ranks import run_on_real_ranks

        drive, fn = _driver(message["drive"]), self.names[message["function"]]
        args = [tuple(each) for each in decode(message["args"])]
        return run_on_real_ranks(drive, fn, args, message["limit"], hosts=message["hosts"])

    def _rank(self, message: dict[str, Any], line: Line) -> Observation:
        """One rank of a run: its requests go out as they come, and at last its value."""
        drive, fn = _driver(message["drive"]), self._copy(message["function"])
        args = tuple(decode(message["args"]))
        trouble = drive.wrong_signature(fn, args)
        if trouble is not None:
            return trouble
        comm = RemoteComm(line, message["rank"], message["hosts"])
        try:
            hands = None if message["local"] else HandsOf(line)
            return Observation(values=[drive.on_rank(fn, comm, args, hands)])
        except Exception as error:
            return failed(error, fn, message["rank"])

    def _copy(self, name: str) -> Callable[..., Any]:
        """A function with its own copy of what it refers to, as each rank of a check has it."""
        from helpers.engine.copies import Copies

        if name not in self._copies:
            try:
                self._copies[name] = Copies(self.names[name], ())
            except TypeError:
                return self.names[name]
        return self._copies[name].take()[0]


def _case(message: dict[str, Any]) -> Case:
    """An ordinary function's case, as it was told."""
    return Case("", (tuple(decode(message["args"])),), 1, decode(message["options"]))


def _driver(name: str) -> Any:
    """A driver by "module:name"."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def as_data(seen: Any) -> dict[str, Any]:
    """An observation as JSON data."""
    line = seen.place.line if seen.place is not None else 0
    said = {"trouble": seen.trouble, "kind": seen.kind[:80], "text": seen.text[:_TEXT]}
    values = encode(list(seen.values))
    return {**said, "line": line, "values": values, "written": seen.written}
