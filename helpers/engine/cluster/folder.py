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
    """What a run is. sources: the notebook's cells, so that a new kernel can show their lines."""

    size: int
    nodes: int
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


class Outcome(NamedTuple):
    """How a rank ended.

    what: "value", "failure" (an exception), "died" (code says how), "ended" (the launcher ended
    it) or "late" (its time was up). time: on its node's clock.
    """

    what: str
    node: str
    time: float
    head: bytes = b""
    account: Any = None
    code: int = 0


class RunFolder:
    """A run's folder, seen from either side."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def new(cls, path: Path, plan: Plan, function: Parcel) -> RunFolder:
        """Lay a folder out for a run. Raises OSError where that cannot be."""
        path.mkdir(parents=True)
        path.chmod(0o700)  # what is unpickled from here must be this user's own
        made = cls(path)
        for rank in range(plan.size):
            for kind in ("log", "stack", "beat", "now"):
                made.file(rank, kind).touch()
        made.put_parcel("function", function)
        made.put("plan", pickle.dumps(plan))
        return made

    def file(self, rank: int, kind: str) -> Path:
        """One of a rank's files: log, stack, beat, now, outcome."""
        return self.path / f"rank-{rank}.{kind}"

    @property
    def log(self) -> Path:
        """What the launcher itself wrote."""
        return self.path / "job.log"

    def put(self, name: str, data: bytes) -> None:
        """Write a file whole, in one move."""
        new = self.path / f".{name}.{os.getpid()}.{secrets.token_hex(3)}"
        new.write_bytes(data)
        new.replace(self.path / name)

    def get(self, name: str) -> bytes | None:
        """A file's content; None where it is not there yet."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
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

    def parcel_value(self, name: str, head: bytes | None = None, mapped: bool = True) -> Any:
        """A value that was kept."""
        from helpers.engine.wire import Parcel, unpack_value  # numpy: a rank's keeper has no use

        head = head if head is not None else (self.path / f"{name}.head").read_bytes()
        arrays = self.path / f"{name}.arrays"
        parcel = Parcel(head, os.open(arrays, os.O_RDONLY) if arrays.exists() else None)
        try:
            return unpack_value(parcel, mapped)
        finally:
            parcel.close()

    def put_outcome(self, rank: int, outcome: Outcome, parcel: Parcel | None = None) -> None:
        """Say how a rank ended, once."""
        if parcel is not None:
            self.put_parcel(f"rank-{rank}", parcel)
            outcome = outcome._replace(head=parcel.head)
        self.put(f"rank-{rank}.outcome", pickle.dumps(outcome))

    def outcome(self, rank: int) -> Outcome | None:
        """How a rank ended; None where it goes on, or has not begun."""
        data = self.get(f"rank-{rank}.outcome")
        outcome = None if data is None else pickle.loads(data)
        assert outcome is None or isinstance(outcome, Outcome)
        return outcome

    def outcome_value(self, rank: int, outcome: Outcome) -> Any:
        """What the rank returned, or the account of its exception."""
        return self.parcel_value(f"rank-{rank}", outcome.head, mapped=False)

    def write(self, rank: int, kind: str, told: Any) -> None:
        """Write a small file that is there, in place."""
        text = json.dumps(told).encode()
        fd = os.open(self.file(rank, kind), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(fd, text + b"\n", 0)
            os.ftruncate(fd, len(text) + 1)
        finally:
            os.close(fd)

    def read(self, rank: int, kind: str) -> Any:
        """What such a file says; None where it says nothing yet, or is being written."""
        try:
            return json.loads(self.file(rank, kind).read_bytes())
        except (OSError, ValueError):
            return None

    def note(self, **told: Any) -> None:
        """Add to what is known of the job: its number, when it began."""
        self.put("job.json", json.dumps({**self.noted(), **told}, indent=1).encode())

    def noted(self) -> dict[str, Any]:
        """What is known of the job."""
        try:
            return dict(json.loads(self.get("job.json") or b"{}"))
        except ValueError:
            return {}
