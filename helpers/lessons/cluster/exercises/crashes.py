"""A driver for a function that writes to a folder: it is stopped everywhere, and called again.

The function runs on a disk in memory, and each of its operations is noted. These are all that ever
reaches the disk: to do the first of them again on a disk that crashes leaves what the function
would leave, were it killed there. Nothing here knows what is right.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from helpers.checks.drives.calling import Function, failed
from helpers.checks.drives.handed import Handed, Hands
from helpers.lessons.cluster.algorithms.crashes import Disk, crashes

READING = ("names", "read", "size")
WRITING = ("write", "sync", "rename", "remove", "sync_names")
_OPERATIONS = 60  # of one call: more than any needs
_WRITTEN = 1024  # bytes of one call
Operation = list[str]  # what was done, the names, and for a write what was written
Files = list[list[str]]  # a name and a text each


def bytes_of(text: str) -> bytes:
    """The bytes that a text stands for, which cross between processes as such."""
    return text.encode("latin-1")


def text_of(data: Any) -> str:
    """The text that stands for bytes. Raises TypeError for anything that is not like bytes."""
    return memoryview(data).tobytes().decode("latin-1")


class Folder:
    """A folder with the methods of `checkpoints.files.Folder`; `do` does what is asked of it."""

    def __init__(self, do: Callable[..., Any]) -> None:
        self._do = do

    def names(self) -> list[str]:
        """The files that are there."""
        return list(self._do("names"))

    def read(self, name: str) -> bytes:
        """All bytes of a file."""
        return bytes_of(self._do("read", os.fspath(name)))

    def size(self, name: str) -> int:
        """Bytes of a file."""
        return int(self._do("size", os.fspath(name)))

    def write(self, name: str, data: bytes) -> None:
        """Make or empty a file and write to it."""
        self._do("write", os.fspath(name), text_of(data))

    def sync(self, name: str) -> None:
        """A file's bytes come to the disk."""
        self._do("sync", os.fspath(name))

    def rename(self, old: str, new: str) -> None:
        """Give a file another name."""
        self._do("rename", os.fspath(old), os.fspath(new))

    def remove(self, name: str) -> None:
        """Take a file away."""
        self._do("remove", os.fspath(name))

    def sync_names(self) -> None:
        """All names come to the disk."""
        self._do("sync_names")


class Noted:
    """A disk, and the operations on it that have been done."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.disk = Disk({name: bytes_of(text) for name, text in files.items()})
        self.done: list[Operation] = []

    def do(self, what: str, *texts: str) -> Any:
        """One operation, and what it gives. Raises RuntimeError where there are too many."""
        if what not in (*READING, *WRITING) or not all(type(each) is str for each in texts):
            raise TypeError(f"There is no {what} of a folder with {texts!r}.")
        operation = [what, *texts]
        wrote = sum(
            len("".join(each[2:])) for each in [*self.done, operation] if each[0] == "write"
        )
        if len(self.done) >= _OPERATIONS or wrote > _WRITTEN:
            raise RuntimeError(
                f"One file takes a few operations, and its bytes: more than {_OPERATIONS} "
                f"operations, or {_WRITTEN} bytes written, are not noted here."
            )
        value = _do(self.disk, operation)
        self.done.append(operation)
        return text_of(value) if what == "read" else value


def _do(disk: Disk, operation: Operation) -> Any:
    what, *texts = operation
    if what == "write":
        name, text = texts
        return disk.write(name, bytes_of(text))
    return getattr(disk, what)(*texts)


def files_on(disk: Disk) -> Files:
    """What a disk holds, by names."""
    return [[name, text_of(disk.read(name))] for name in sorted(disk.names())]


def writing(done: Sequence[Operation]) -> list[Operation]:
    """The operations that change something."""
    return [operation for operation in done if operation[0] in WRITING]


def ticks(operation: Operation) -> int:
    """How many moments an operation has: one, and one for each byte that it writes."""
    return 1 + (len(operation[2]) if operation[0] == "write" else 0)


def found_after(files: Mapping[str, str], done: Sequence[Operation]) -> list[list[Any]]:
    """`[tick, outcome, files]` for a crash at each tick and with each outcome, in this order."""

    def again(disk: Disk) -> None:
        for operation in writing(done):
            _do(disk, operation)

    before = {name: bytes_of(text) for name, text in files.items()}
    return [[crash.at, crash.outcome, files_on(crash.disk)] for crash in crashes(again, before)]


def stops(done: Sequence[Operation]) -> list[int]:
    """The ticks before and after each operation, and one in the middle of each write."""
    at, found = 0, [0]
    for operation in writing(done):
        if ticks(operation) > 1:
            found.append(at + 1 + ticks(operation) // 2)
        at += ticks(operation)
        found.append(at)
    return sorted(set(found))


def _of_another_process(
    left: Files, name: str, others: Iterable[str], number: int
) -> dict[str, str]:
    """Files as a process of another number would have left them, under temporary names for `name`
    that hold the number."""
    found = {}
    for each, text in left:
        if each not in others:
            beside = each.split(name)  # which may hold the number itself
            each = name.join(re.sub(rf"(?<!\d){number}(?!\d)", str(number + 1), b) for b in beside)
        found[each] = text
    return found


class Calls(Hands):
    """The calls of one case, one after the other, and the folder of each.

    First the call itself; then one of another rank, on the files as they were at first; then one
    for each tick at which the first was stopped, on what that leaves.
    """

    secret = (0, 1, 2, 3, 4)

    def __init__(self, files: Mapping[str, str], name: str, data: str, later: str, other: str):
        self.files, self.name, self.later = files, name, later
        self.waiting: list[tuple[Any, str, str]] = [("", name, data), ("beside", other, later)]
        self.at: Any = ""
        self.now, self.left = Noted(files), dict[int, Files]()
        self.value: dict[str, Any] = {"done": [], "found": [], "again": [], "beside": []}

    def begin(self, number: int) -> tuple[str, str] | None:
        """The next call's name and data; None after the last. number: of the caller's process."""
        if not self.waiting:
            return None
        self.at, name, data = self.waiting.pop(0)
        files = self.files
        if self.at in self.left:
            files = _of_another_process(self.left[self.at], self.name, files, number)
        self.now = Noted(files)
        return name, data

    def do(self, what: str, *texts: str) -> Any:
        """One operation on the folder of this call."""
        return self.now.do(what, *texts)

    def ended(self, said: str | None) -> None:
        """The call is over. said: what it raised, if anything."""
        if self.at == "beside":
            self.value["beside"] = [] if said else self.now.done
        elif self.at in self.left:
            self.value["again"].append([self.at, said or files_on(self.now.disk)])
        else:
            self.value["done"], found = self.now.done, found_after(self.files, self.now.done)
            self.value["found"] = found
            self.left = {at: its for at, outcome, its in found if outcome == "killed"}
            self.waiting += [(at, self.name, self.later) for at in stops(self.now.done)]

    def noted(self, value: Any) -> Any:
        """All operations, and what they leave."""
        return self.value


def _crashed(fn: Function, hands: Any, *case: Any) -> None:
    """Call `fn(folder, name, data)`, stop it at every tick, and call it again on what that leaves.

    A case's arguments: files, name, data, later, other; files are texts by name, and all data are
    texts. `values[0]` is a dictionary. "done": the call's operations. "found": `[tick, outcome,
    files]` after a crash there, with `[name, text]` for each file. "again": `[tick, files]` when
    the process was killed there, and `fn(folder, name, later)` was called on what it left; for
    files the exception, a text, where it raised one. A temporary name with the number of the
    process has another one by then, as another process would call it. "beside": the operations of
    `fn(folder, other, later)` on the files as they were at first, which is what another rank may do
    at the same time; none where it raised an exception.
    """
    first = True
    while (asked := hands.begin(os.getpid())) is not None:
        name, data = asked
        said = None
        try:
            fn(Folder(hands.do), name, bytes_of(data))
        except Exception as error:
            seen = failed(error, fn)
            if first or seen.trouble != "failed":  # it runs no longer
                raise
            said = f"{seen.kind}: {seen.text}"
        hands.ended(said)
        first = False


crashed = Handed(_crashed, 3, Calls)
