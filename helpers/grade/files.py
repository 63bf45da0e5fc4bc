"""Names and files: what strangers named, shown safely, and files that are never half written."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helpers.grade.wish import GradingError

SLUG_LENGTH = 40
MAX_BYTES = 64 * 2**20  # what is larger is no notebook for any judge
# Control characters, and those that turn the direction of a text.
HIDDEN = "[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
BUT_LINES = rf"(?![\n\t]){HIDDEN}"
# What begins a formula, and what such a program skips before one (OWASP, "CSV injection").
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
# Names that the systems give to what was handed in: whose it is, and the student's own file. Where
# one hands in again, what `when` holds is greater.
SYSTEMS = {
    "canvas": r"(?P<name>[^_]+)(?:_LATE)?_(?P<id>\d+)_(?P<when>\d+)_(?P<file>.*)",
    "moodle": r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[^_]*_?(?P<file>.*)",
    "blackboard": r".+?_(?P<id>[^_]+)_attempt_(?P<when>\d{4}(?:-\d\d){5})_?(?P<file>.*)",
    "brightspace": r"(?P<id>\d+-\d+) - (?P<name>.+?) - "
    r"(?P<when>\w{3} \d+, \d{4} \d+ [AP]M)(?: - )?(?P<file>.*)",
}
# What `file_name` makes, and what is half written of it.
OURS = re.compile(r"\.?[a-z0-9-]+-[0-9a-f]{8}(-\d+)?(\.html)?(\.tmp)?")


def printable(text: str, lines: bool = False) -> str:
    r"""Text that any file and any page can hold: what cannot be shown is written as `\n`, `\udc80`.

    An accent is one character with its letter, as all but macOS write it: names are to be found.
    lines: whether line ends and tabs stay.
    """
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    text = unicodedata.normalize("NFC", text)
    return re.sub(
        BUT_LINES if lines else HIDDEN,
        lambda found: found[0].encode("unicode_escape").decode("ascii"),
        text,
    )


def formula_safe(cell: str) -> str:
    """A cell that a spreadsheet shows and does not compute: an apostrophe before a formula."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def everywhere_printable(value: Any) -> Any:
    """The same plain data with every text in it `printable`, line ends kept."""
    if isinstance(value, str):
        return printable(value, lines=True)
    if isinstance(value, dict):
        return {key: everywhere_printable(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [everywhere_printable(one) for one in value]
    return value


def of_system(raw: str) -> tuple[str, dict[str, str]]:
    """Which system made a name, and what it says; "" where none did.

    A student can have called the file like another's: what stands first is the system's own.
    """
    tried = {system: re.fullmatch(one, printable(raw)) for system, one in SYSTEMS.items()}
    fitting = [(found.start("file"), system, found) for system, found in tried.items() if found]
    _, system, found = min(fitting, default=(0, "", None))
    return system, found.groupdict() if found else {}


def came(system: str, when: str) -> str:
    """A text that is greater for what came later."""
    if system == "brightspace":  # such as "Nov 29, 2026 422 PM"
        day, clock, half = when.rsplit(" ", 2)
        with contextlib.suppress(ValueError):
            at = time.strptime(f"{day} {clock.zfill(4)} {half}", "%b %d, %Y %I%M %p")
            return time.strftime("%Y%m%d%H%M", at)
    return when.zfill(20)


def file_name(raw: str) -> str:
    """What a submission's files are called: a slug of its name, and 8 digits of its digest."""
    plain = unicodedata.normalize("NFKD", raw.encode("utf-8", "replace").decode("utf-8"))
    slug = re.sub(r"[^a-z0-9]+", "-", plain.encode("ascii", "ignore").decode().lower()).strip("-")
    digest = hashlib.sha256(os.fsencode(raw)).hexdigest()[:8]
    return f"{slug[:SLUG_LENGTH].rstrip('-') or 'submission'}-{digest}"


def hashed(text: str) -> str:
    """Its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


@functools.lru_cache(maxsize=4096)
def _contents(notebook: Path, look: tuple[int, ...]) -> str:
    return hashlib.sha256(read(notebook)).hexdigest()


def contents(notebook: Path) -> str:
    """The digest of a notebook's bytes, or why they cannot be read, which the judge then says."""
    try:
        return _contents(notebook, look_of(notebook))
    except OSError as error:
        return f"unreadable {error.strerror}"


def look_of(path: Path) -> tuple[int, ...]:
    """What changes with a file's contents: its size and its times. Raises OSError."""
    found = os.stat(path, follow_symlinks=False)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def read(notebook: Path) -> bytes:
    """A notebook's bytes, up to MAX_BYTES. Raises OSError where it cannot be read."""
    descriptor = os.open(notebook, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        return file.read(MAX_BYTES)


def write(path: Path, data: bytes) -> None:
    """Write a file as a whole or not at all, whenever this process is killed.

    What is there already is let be.
    """
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(data)
    os.replace(temporary, path)


def as_json(data: Any) -> bytes:
    """Plain data as JSON bytes, always the same for the same data."""
    return (json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode("utf-8")


def keep_only(folder: Path, names: set[str]) -> None:
    """Remove what earlier runs left in a folder of pages: half-written files, and other students'.

    Only names that `file_name` makes are touched.
    """
    for found in folder.iterdir() if folder.is_dir() else ():
        if found.name in names or not OURS.fullmatch(found.name):
            continue
        if found.is_dir() and not found.is_symlink():
            shutil.rmtree(found)
        else:
            found.unlink()


def apart(folder: Path, out: Path) -> tuple[Path, Path]:
    """Both, resolved. Raises GradingError where one lies in the other."""
    if out.exists() and not out.is_dir():
        raise GradingError(f"{out} is not a folder; name one with --out.")
    folder, out = folder.resolve(), out.resolve()
    if folder == out or folder in out.parents or out in folder.parents:
        raise GradingError(
            f"The submissions ({folder}) and --out ({out}) must not lie in one another: what is "
            "written would be taken for submissions."
        )
    return folder, out


@contextlib.contextmanager
def owned(out: Path, shared: bool = False) -> Iterator[None]:
    """Hold OUT, so that no second grader writes in it. Raises GradingError where one does.

    shared: others may hold it, too, who share it. The system releases the lock when its holder
    ends, however it ends.
    """
    import fcntl

    run = out / "run"
    try:
        run.mkdir(parents=True, exist_ok=True)
        lock = open(run / "lock", "ab")  # noqa: SIM115
    except OSError as error:
        raise GradingError(f"{out} cannot be written ({error.strerror}).") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_NB | (fcntl.LOCK_SH if shared else fcntl.LOCK_EX))
        except BlockingIOError:
            raise GradingError(
                f"Another grader is at work in {out}; wait until it is done, or name another --out."
            ) from None
        yield
