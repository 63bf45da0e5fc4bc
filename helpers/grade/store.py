"""Results on disk, one file a submission: nothing is graded twice while its digest is the same."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

from helpers.grade.files import as_json, everywhere_printable, write
from helpers.grade.grades import SubmissionGrade, from_json

HELPERS = Path(__file__).resolve().parents[1]
MAX_BYTES = 64 * 2**20  # what is larger is no notebook for any judge


def grader_version(lesson: str, judge: str) -> str:
    """A digest of all that may decide a grade: the course's files, and packages.

    judge: "module:name" of the judge's class.
    """
    digest = hashlib.sha256(f"{lesson} {judge} {sys.version_info[:2]}".encode())
    for package in ("torch", "numpy"):
        digest.update(f"{package} {version(package).split('+')[0]}".encode())
    for path in sorted(one for end in ("py", "json") for one in HELPERS.rglob(f"*.{end}")):
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def contents(notebook: Path) -> str:
    """The digest of a notebook's bytes, or why they cannot be read, which the judge then says."""
    try:
        return _contents(notebook, look_of(notebook))
    except OSError as error:
        return f"unreadable {error.strerror}"


@functools.lru_cache(maxsize=4096)
def _contents(notebook: Path, look: tuple[int, ...]) -> str:
    return hashlib.sha256(read(notebook)).hexdigest()


def look_of(path: Path) -> tuple[int, ...]:
    """What changes with a file's contents: its size and its times. Raises OSError."""
    found = os.stat(path, follow_symlinks=False)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def read(notebook: Path) -> bytes:
    """A notebook's bytes, up to MAX_BYTES. Raises OSError where it cannot be read."""
    descriptor = os.open(notebook, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        return file.read(MAX_BYTES)


class Store:
    """The results in a folder OUT."""

    def __init__(self, out: Path) -> None:
        self.folder = out / "results"

    def load(self, identity: str, terms: str, digest: str | None = None) -> SubmissionGrade | None:
        """A submission's last grade; None where there is none that goes by these terms.

        digest: of the terms and the notebook as it is; then one that was not judged in full counts
        as none.
        """
        try:
            stored = json.loads((self.folder / f"{identity}.json").read_bytes())
            if stored["terms"] != terms:
                return None
            if digest is not None and (stored["digest"] != digest or stored["failed"]):
                return None
            return from_json(stored["grade"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(
        self, identity: str, terms: str, digest: str, grade: SubmissionGrade, failed: bool
    ) -> SubmissionGrade:
        """Keep a grade. failed: it was not judged in full, and the next run asks again."""
        kept = from_json(everywhere_printable(grade.as_json()))
        stored = {"terms": terms, "digest": digest, "failed": failed, "grade": kept.as_json()}
        write(self.folder / f"{identity}.json", as_json(stored))
        return kept
