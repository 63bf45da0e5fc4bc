"""The folder of a run, on a disk that all nodes see: what notebook and ranks say to each other.

Nothing else connects them, so that either may go away and come back. Whatever has to be whole is
written beside its place and moved there. Files that change are made before the job begins: a
network file system tells of a new name late, and of a file's new content when it is opened.
"""

from __future__ import annotations

import json
import os
import pickle
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from helpers.engine.wire import Parcel


class Plan(NamedTuple):
    """What a run is. sources: the notebook's cells, so that a new kernel can show their lines.

    addresses: where each rank can be reached, once they know.
    """

    size: int
    framework: str
    launcher: str
    device: str | None
    threads: int
    timeout: float
    start_timeout: float
    interface: str
    path: list[str]
    folder: str
    name: str
    sources: dict[str, list[str]]
    addresses: tuple[str, ...] = ()

    def address(self, rank: int) -> str:
        """Where a rank can be reached."""
        return self.addresses[rank]


class Outcome(NamedTuple):
    """How a rank ended.

    what: "value", "failure" (an exception), "died" (code says how), "ended" (the launcher ended
    it) or "late" (its time was up). time: on its node's clock.
    """

    what: str
    node: str
    time: float
    account: Any = None
    code: int = 0


class RunFolder:
    """A run's folder, seen from either side.

    For each rank it has rank-N.log (what it prints), .stack (what breaks), .now (that it lives, and
    what it does) and, at its end, .outcome.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def new(cls, path: Path, plan: Plan, function: Parcel) -> RunFolder:
        """Lay a folder out for a run. Raises OSError where that cannot be."""
        path.mkdir(parents=True)
        path.chmod(0o700)  # what is unpickled from here must be this user's own
        made = cls(path)
        for rank in range(plan.size):
            for kind in ("log", "stack", "now"):
                made.file(rank, kind).touch()
        made.put_parcel("function", function)
        made.put("plan", pickle.dumps(plan))
        return made

    def file(self, rank: int, kind: str) -> Path:
        """One of a rank's files."""
        return self.path / f"rank-{rank}.{kind}"

    def put(self, name: str, data: bytes) -> None:
        """Write a file whole, in one move."""
        new = self.path / f".{name}.{os.getpid()}.{secrets.token_hex(3)}"
        new.write_bytes(data)
        new.replace(self.path / name)

    def get(self, name: str) -> bytes | None:
        """A file's content; None where it is not there yet."""
        try:
            return (self.path / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def plan(self) -> Plan:
        """What the run is."""
        plan = pickle.loads((self.path / "plan").read_bytes())
        assert isinstance(plan, Plan)
        return plan

    def put_parcel(self, name: str, parcel: Parcel) -> None:
        """Keep a pickled value: its big arrays in a file of their own, which is mapped."""
        if parcel.fd is not None:
            with open(parcel.fd, "rb", closefd=False) as arrays:
                arrays.seek(0)
                self.put(f"{name}.arrays", arrays.read())
        self.put(f"{name}.head", parcel.head)

    def value(self, name: str, mapped: bool = False) -> Any:
        """A value that was kept: "function" with its arguments, or what "rank-N" gave."""
        from helpers.engine.wire import Parcel, unpack_value  # numpy: a rank's keeper has no use

        head, arrays = (self.path / f"{name}.head").read_bytes(), self.path / f"{name}.arrays"
        parcel = Parcel(head, os.open(arrays, os.O_RDONLY) if arrays.exists() else None)
        try:
            return unpack_value(parcel, mapped)
        finally:
            parcel.close()

    def put_outcome(self, rank: int, outcome: Outcome, parcel: Parcel | None = None) -> None:
        """Say how a rank ended, once, and what it gave."""
        if parcel is not None:
            self.put_parcel(f"rank-{rank}", parcel)
        self.put(f"rank-{rank}.outcome", pickle.dumps(outcome))

    def outcome(self, rank: int) -> Outcome | None:
        """How a rank ended; None where it goes on, or has not begun."""
        data = self.get(f"rank-{rank}.outcome")
        outcome = None if data is None else pickle.loads(data)
        assert outcome is None or isinstance(outcome, Outcome)
        return outcome

    def write_now(self, rank: int, told: dict[str, Any]) -> None:
        """Say what a rank does, in place."""
        self.file(rank, "now").write_text(json.dumps(told))

    def now(self, rank: int) -> Any:
        """What was said last; None where it is nothing yet, or is being written."""
        try:
            return json.loads(self.file(rank, "now").read_bytes())
        except (OSError, ValueError):
            return None

    def note(self, **told: Any) -> None:
        """Add to what is known of the job: its launcher and number, when its ranks began."""
        self.put("job.json", json.dumps({**self.noted(), **told}, indent=1).encode())

    def noted(self) -> dict[str, Any]:
        """What is known of the job."""
        return dict(json.loads(self.get("job.json") or b"{}"))
