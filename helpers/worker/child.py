"""A process in the sandbox that has one submission: it runs cells and answers the judge's calls.

It says what happened; what that is worth is decided elsewhere. A learner's code shares this
process and may do to it whatever it likes.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from helpers.worker.encoding import decode, encode
from helpers.worker.frames import Closed, Frames
from helpers.worker.submission import Submission, own_names
from helpers.worker.told import as_data


def preload(frameworks: Sequence[str]) -> None:
    """Import what most submissions use, in the process from which the others are forked."""
    import IPython.core.inputtransformer2  # noqa: F401
    import torch.nn.functional

    import helpers
    import helpers.checks.drives.arguments
    import helpers.checks.drives.calling
    import helpers.checks.drives.training
    import helpers.worker.calls
    import helpers.worker.remote_comm

    torch.set_num_threads(1)
    if "tensorflow" in frameworks:
        from helpers.checks.drives.tf import split_cpu

        split_cpu()  # nothing is computed yet, and a submission's cells may do so
        # Loaded at the first use of an optimizer: seconds, for every rank of a run.
        import tf_keras  # noqa: F401
        import torch._dynamo
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
        if message["do"] == "cells":
            self._cells(message)
        elif message["do"] == "call":
            self._call(message)
        elif message["do"] == "real":
            self._real(message)
        elif message["do"] in ("build", "look"):
            self._built(message)
        elif message["do"] == "threads":
            self._threads(message)
        elif message["do"] == "case":
            self._case(message)
        else:
            self._rank(message)

    def _cells(self, message: dict[str, Any]) -> None:
        """Run what the functions need; say before each step which one it is.

        skip: what ended an earlier process, (cell, statement) or (cell, -1) for reading a cell.
        only: what the functions need, where another process has found that out.
        """
        submission = Submission(
            self.names,
            message["functions"],
            set(map(tuple, message["skip"])),
            lambda *at: self.frames.send({"at": at}),
        )
        states, chosen = submission.run(message["cells"], message["only"])
        self.frames.send({"cells": states, "chosen": chosen})

    def _call(self, message: dict[str, Any]) -> None:
        """An ordinary function: the driver's whole observation."""
        from helpers.checks.spec import Case

        drive = _driver(message["drive"])
        case = Case("", (tuple(decode(message["args"])),), 1, decode(message["options"]))
        seen = drive(self.names[message["function"]], case)
        self.frames.send({"call": message["call"], "lane": 0, **as_data(seen)})

    def _case(self, message: dict[str, Any]) -> None:
        """A case whose driver is the judge's: it asks for one call after the other."""
        from helpers.worker.calls import Calls
        from helpers.worker.remote_comm import Line, RemoteComm

        line = Line(self.frames, message["call"])
        name, comm = message["function"], None
        if message["rank"] is not None:
            comm = RemoteComm(line, message["rank"], message["hosts"])
        Calls(self.names[name] if comm is None else self._copy(name), line, comm).serve()

    def _built(self, message: dict[str, Any]) -> None:
        """A graph: built here, or looked at where no cell has run."""
        from helpers.checks.spec import Case

        drive = _driver(message["drive"])
        case = Case("", (tuple(decode(message["args"])),), 1, decode(message["options"]))
        if message["do"] == "look":
            seen = drive.look(case, decode(message["built"]))
        else:
            seen = drive.build(self.names[message["function"]], case)
        self.frames.send({"call": message["call"], "lane": 0, **as_data(seen)})

    def _threads(self, message: dict[str, Any]) -> None:
        """A function that uses a session of the judge's from threads of its own."""
        from helpers.worker.remote_session import serve

        fn = self.names[message["function"]]
        serve(fn, self.frames, message["call"], message["ops"], message["last"])

    def _real(self, message: dict[str, Any]) -> None:
        """A whole run on real ranks, in this sandbox."""
        from helpers.worker.real_ranks import run_on_real_ranks

        drive, fn = _driver(message["drive"]), self.names[message["function"]]
        args = [tuple(each) for each in decode(message["args"])]
        seen = run_on_real_ranks(drive, fn, args, message["limit"], hosts=message["hosts"])
        self.frames.send({"call": message["call"], "lane": 0, **as_data(seen)})

    def _copy(self, name: str) -> Callable[..., Any]:
        """A function with its own copy of what it refers to, as each rank of a check has it."""
        from helpers.engine.copies import Copies

        if name not in self._copies:
            try:
                self._copies[name] = Copies(self.names[name], ())
            except TypeError:
                return self.names[name]
        return self._copies[name].take()[0]

    def _rank(self, message: dict[str, Any]) -> None:
        """One rank of a run: its requests go out as they come, and at last its value."""
        from helpers.checks.drives.calling import failed
        from helpers.worker.remote_comm import Line, RemoteComm, take_fds

        drive, fn = _driver(message["drive"]), self._copy(message["function"])
        args = tuple(decode(message["args"]))
        line = Line(self.frames, message["call"])
        trouble = drive.wrong_signature(fn, args)
        if trouble is None:
            comm = RemoteComm(line, message["rank"], message["hosts"])
            try:
                value = drive.on_rank(fn, comm, args)
            except Exception as error:
                trouble = failed(error, fn, message["rank"])
        if trouble is None:
            line.tell(0, "return", encode(value))
        else:
            line.tell(0, "trouble", as_data(trouble)["seen"])
        line.over()
        take_fds(self.frames)


def _driver(name: str) -> Any:
    """A driver by "module:name"."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
