"""The processes that hold one submission: started, told its cells, started again after a crash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from helpers.checks.encoding import Malformed
from helpers.engine.own_time import Late, Limit, Undecided
from helpers.grade.judge.budgets import Budgets, Clock
from helpers.grade.judge.channel import OVER, Channel
from helpers.grade.judge.notebook import begin
from helpers.grade.sandbox import Sandbox

Fate = Literal["crashed", "time-out", "not judged"]


@dataclass(frozen=True)
class State:
    """What became of an exercise's function when the cells ran.

    what: "there", "open" (as the lesson has it), "missing", "failed", how its cell ended the
    process, or "not judged" where the machine was too busy for the cells. cell: counted from 1, 0
    where there is none. kind, text: of the exception. shown: the line of the cell, or its first.
    """

    what: Literal["there", "open", "missing", "failed", "crashed", "time-out", "not judged"]
    cell: int = 0
    line: int = 0
    kind: str = ""
    text: str = ""
    shown: str = ""


class Session:
    """One submission in its sandboxes, rank r in sandbox r modulo their number.

    clock: of its time. crashes: how many processes it has ended or stalled. undecided: whether the
    machine was too busy for its cells.
    """

    def __init__(
        self,
        sandboxes: Sequence[Sandbox],
        sources: Sequence[str],
        functions: Sequence[str],
        budgets: Budgets,
    ) -> None:
        self._sandboxes, self._budgets = sandboxes, budgets
        self.clock = Clock(budgets)
        self._sources = sources
        self._cells = {"do": "cells", "cells": list(sources), "functions": list(functions)}
        self._functions = functions
        self._channels: list[Channel] = []
        self._clean: Channel | None = None
        self._skip: dict[tuple[int, int], Fate] = {}
        self._at: tuple[int, int] | None = None
        self._states: dict[str, State] = {}
        self.crashes = 0
        self.undecided = False

    def states(self) -> dict[str, State]:
        """What became of each function. A cell that ends the process is skipped in the next one."""
        self.channels(1)
        return self._states

    def channels(self, ranks: int) -> list[Channel]:
        """Connections to so many processes, each of which has run the cells.

        Empty where the cells end or stall every process. The first one finds out which.
        """
        if ranks > 1 and not self._channels:
            self.channels(1)
        while True:
            lacking = range(len(self._channels), ranks)
            for rank in lacking:
                self._sandbox(rank).prepare()  # all of them load at once
            new = [Channel(self._sandbox(rank).fork()) for rank in lacking]
            self._channels += new
            fate = self._tell_cells(new)
            if fate is None:
                return self._channels[:ranks]
            self.give_up()
            at, given_up = self._at, len(self._skip) >= self._budgets.restarts
            if fate == "not judged" or at is None or at in self._skip or given_up:
                self._states = {name: State(fate) for name in self._functions}
                self.undecided = fate == "not judged"
                return []
            self._skip[at] = fate

    def clean(self) -> Channel:
        """A connection to a process that has run nothing of the submission, and never does.

        It looks at what the submission has built. Like the others it is ended after trouble.
        """
        if self._clean is None:
            self._clean = Channel(self._sandbox(0).fork())
        return self._clean

    def _sandbox(self, rank: int) -> Sandbox:
        return self._sandboxes[rank % len(self._sandboxes)]

    def give_up(self, crashed: bool = True) -> None:
        """End all processes, which are in no known state."""
        self.crashes += crashed
        self.close()

    def close(self) -> None:
        """End all processes."""
        if self._clean is not None:
            self._sandbox(0).end(self._clean.child)
            self._clean = None
        for rank, channel in enumerate(self._channels):
            self._sandbox(rank).end(channel.child)
        self._channels = []

    def _tell_cells(self, channels: Sequence[Channel]) -> Fate | None:
        """Let these processes run the cells, all at once; how that ended, None for well."""
        if not channels:
            return None
        seconds = min(self._budgets.cells, self.clock.cells)
        self._at = None
        limits = []
        try:
            for channel in channels:
                channel.begin(seconds)
                limits.append(channel.limit)
                skip = [list(at) for at in self._skip]
                channel.send({**self._cells, "skip": skip})
            for channel in channels:
                states = self._run_cells(channel)
                self._states = self._states or states
        except Undecided:
            return "not judged"
        except Late:
            return "time-out"
        except OVER:
            return "crashed"
        finally:
            self.clock.cells -= max(limit.look() for limit in limits)
        return None

    def _run_cells(self, channel: Channel) -> dict[str, State]:
        whole = channel.limit
        while True:
            left = whole.seconds - whole.taken
            channel.left.limit = Limit(channel.own, min(left, self._budgets.step))
            op, args = channel.request()
            if op == "end" and len(args) == 1:
                return self._read_states(args[0])
            self._at = _place(args)

    def _read_states(self, said: Any) -> dict[str, State]:
        if type(said) is not dict or set(said) != set(self._functions):
            raise Malformed("no states")
        return {name: self._read_state(said[name]) for name in self._functions}

    def _read_state(self, said: Any) -> State:
        if said in ("there", "open", "missing") and type(said) is str:
            return State(said)  # type: ignore[arg-type]
        kinds = list(map(type, said)) if type(said) is list else []
        if kinds != [str, str, int, int]:
            raise Malformed("no state")
        kind, text, cell, line = said
        lines = self._sources[cell].split("\n") if 0 <= cell < len(self._sources) else []
        if kind == "skipped" and (cell, line) in self._skip:
            return State(self._skip[cell, line], cell + 1, shown=begin("\n".join(lines)))
        shown = begin("\n".join(lines[max(line - 1, 0) :]))
        return State("failed", cell + 1, max(line, 0), kind[:80], text[:2000], shown)


def _place(at: Any) -> tuple[int, int]:
    if type(at) is not list or list(map(type, at)) != [int, int]:
        raise Malformed("no place")
    return at[0], at[1]
