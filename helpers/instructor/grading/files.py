"""Names and files: what strangers named, shown safely, and files that are never half written."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helpers.instructor.grading import GradingError

TEMPORARY = ".tmp"
SLUG_LENGTH = 40


def printable(text: str, lines: bool = False) -> str:
    r"""Text that any file and any page can hold: what cannot be shown is written as `\n`, `\udc80`.

    lines: whether line ends and tabs stay.
    """
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    kept = "\n\t" if lines else ""
    if text.translate({ord(c): None for c in kept}).isprintable():
        return text  # nearly always, and quick
    shown = [c if c in kept or not _hidden(c) else _escaped(c) for c in text]
    return "".join(shown)


def _hidden(character: str) -> bool:
    """Whether it is a control character, or one that turns the direction of a text."""
    category = unicodedata.category(character)
    turns = unicodedata.bidirectional(character) in _TURNS
    return category in ("Cc", "Zl", "Zp") or turns


_TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def everywhere_printable(value: Any) -> Any:
    """The same plain data with every text in it `printable`, line ends kept."""
    if isinstance(value, str):
        return printable(value, lines=True)
    if isinstance(value, dict):
        return {key: everywhere_printable(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [everywhere_printable(one) for one in value]
    return value


def file_name(raw: str) -> str:
    """What a submission's files are called: a slug of its name, and 8 digits of its digest."""
    plain = unicodedata.normalize("NFKD", raw.encode("utf-8", "replace").decode("utf-8"))
    slug = re.sub(r"[^a-z0-9]+", "-", plain.encode("ascii", "ignore").decode().lower()).strip("-")
    digest = hashlib.sha256(os.fsencode(raw)).hexdigest()[:8]
    return f"{slug[:SLUG_LENGTH].rstrip('-') or 'submission'}-{digest}"


def write(path: Path, data: bytes, durable: bool = False) -> None:
    """Write a file as a whole or not at all, whenever this process is killed.

    durable: also where the machine loses its power.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}{TEMPORARY}")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    os.replace(temporary, path)
    if durable and os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def as_json(data: Any) -> bytes:
    """Plain data as JSON bytes, always the same for the same data."""
    return (json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode("utf-8")


def keep_only(folder: Path, names: set[str]) -> None:
    """Remove what earlier runs left in a folder of pages: half-written files, and other students'.

    Only names that `file_name` makes are touched.
    """
    ours = re.compile(r"[a-z0-9-]+-[0-9a-f]{8}(-\d+)?(\.html|\.json)?")
    for found in folder.iterdir() if folder.is_dir() else ():
        if found.name.startswith(".") and found.name.endswith(TEMPORARY):
            found.unlink()
        elif found.name in names or not ours.fullmatch(found.name):
            continue
        elif found.is_dir() and not found.is_symlink():
            (found / "results.json").unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # it holds something of somebody else's
                found.rmdir()
        else:
            found.unlink()


@contextlib.contextmanager
def owned(out: Path) -> Iterator[None]:
    """Hold OUT, so that no second grader writes in it. Raises GradingError where one does.

    The system releases the lock when its holder ends, however it ends.
    """
    run = out / "run"
    try:
        run.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(run / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise GradingError(f"{out} cannot be written ({error.strerror}).") from None
    try:
        if not _locked(descriptor):
            raise GradingError(
                f"Another grader is at work in {out}; wait until it is done, or name another --out."
            )
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Whether the lock is ours now; always where the system has no `flock` (Windows)."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
