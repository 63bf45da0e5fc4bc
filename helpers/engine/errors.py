"""How a run can end badly. Every error names the ranks and what they were doing."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from types import MappingProxyType


def death(code: int) -> str:
    """How a process ended, by its exit code: "was killed by signal 9 (SIGKILL)"."""
    if code >= 0:
        return f"ended its process with exit code {code}"
    name = next((s.name for s in signal.Signals if s == -code), "a real-time signal")
    return f"was killed by signal {-code} ({name})"


class RunError(RuntimeError):
    """A run that did not return.

    ranks: the ranks at fault, the first one first. report: the whole story, as it is shown. A
    pickle makes it of the report alone, and fills the rest in: so all else has a default.
    """

    def __init__(self, report: str, ranks: tuple[int, ...] = ()) -> None:
        super().__init__(report)
        self.report = report
        self.ranks = ranks

    @property
    def rank(self) -> int | None:
        """The first rank at fault."""
        return self.ranks[0] if self.ranks else None

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the ranks' story instead of the engine's own frames."""
        return [f"{type(self).__name__}: {self.report}"]


class NoHosts(RunError):
    """This machine gives no virtual hosts; the report says why and what can be done."""


class RankFailed(RunError):
    """A rank raised an exception. kind: the exception's class name; message: its text."""

    def __init__(self, report: str, rank: int = 0, kind: str = "", message: str = "") -> None:
        super().__init__(report, (rank,))
        self.kind = kind
        self.message = message


class RankDied(RunError):
    """A rank's process ended without an answer: killed, out of memory, or `os._exit`.

    how: that alone, in words.
    """

    def __init__(self, report: str, ranks: tuple[int, ...] = (), how: str = "") -> None:
        super().__init__(report, ranks)
        self.how = how


class NodeDied(RankDied):
    """A node of a cluster has gone, and its ranks with it. nodes: their names."""

    def __init__(
        self, report: str, ranks: tuple[int, ...] = (), nodes: tuple[str, ...] = ()
    ) -> None:
        super().__init__(report, ranks)
        self.nodes = nodes


class JobCancelled(RunError):
    """Somebody cancelled the job, or the cluster ended it, before its ranks had answered."""


class Deadlock(RunError):
    """Ranks that wait for each other, or for a rank that has returned.

    waiting: for each rank that waits, in words, what it waits for.
    """

    def __init__(self, report: str, waiting: Mapping[int, str] = MappingProxyType({})) -> None:
        super().__init__(report, tuple(waiting))
        self.waiting = dict(waiting)


class RunTimeout(RunError):
    """Ranks that had not answered when the time was up."""


class RunInterrupted(KeyboardInterrupt):
    """The cell was interrupted; says what each rank was doing."""

    def __init__(self, report: str) -> None:
        super().__init__(report)
        self.report = report

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self.report}"]
