"""Results on disk, one file a submission: nothing is graded twice while its digest is the same."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from helpers.instructor.grades import Mode, SubmissionGrade, from_json
from helpers.instructor.grading.files import TEMPORARY, as_json, everywhere_printable, write
from helpers.rooms import folder, rooms

HELPERS = Path(__file__).resolve().parents[2]
# What a grade depends on: a change in any of these files and everything is graded anew.
PARTS = (
    "checks",
    "engine",
    "lessons",
    "notebook",
    "rooms.py",
    "worker",
    "instructor/grades.py",
    "instructor/judge",
    "instructor/sandbox",
)
PACKAGES = ("torch", "numpy")
MAX_BYTES = 64 * 2**20  # what is larger is no notebook for any judge


def grader_version(lesson: str, judge: str) -> str:
    """A digest of all that decides a grade: the grader's and the lesson's files, and packages.

    judge: "module:name" of the judge's class.
    """
    digest = hashlib.sha256(f"{lesson} {judge} {sys.version_info[:2]}".encode())
    for package in PACKAGES:
        try:
            digest.update(f"{package} {version(package).split('+')[0]}".encode())
        except PackageNotFoundError:
            digest.update(f"{package} none".encode())
    home = importlib.util.find_spec(judge.partition(":")[0])
    files = [Path(home.origin)] if home and home.origin else []
    for path in sorted({*files, *deciding(lesson)}):
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def deciding(lesson: str) -> list[Path]:
    """The files of the course that a lesson's grades depend on."""
    files = [path for part in PARTS for path in _files(HELPERS / part)]
    return [path for path in files if not _of_another(path, lesson)]


def _files(part: Path) -> list[Path]:
    if part.is_file():
        return [part]
    return [p for p in part.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


def _of_another(path: Path, lesson: str) -> bool:
    """Whether a file belongs to another lesson's exercises."""
    specs = {number: folder(number) / "exercises" for number in rooms()}
    return any(path.is_relative_to(home) for number, home in specs.items() if number != lesson)


def contents(notebook: Path) -> bytes:
    """A notebook's bytes, up to MAX_BYTES. Raises OSError where it cannot be read."""
    descriptor = os.open(notebook, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        return file.read(MAX_BYTES)


def digest(notebook: bytes, grader: str, seed: int, mode: Mode) -> str:
    """What a result belongs to. notebook: its contents."""
    made = hashlib.sha256(f"{grader} {seed} {mode} ".encode())
    made.update(hashlib.sha256(notebook).digest())
    return made.hexdigest()


class Store:
    """The results in a folder OUT."""

    def __init__(self, out: Path) -> None:
        self.folder = out / "results"

    def prepare(self) -> None:
        """Make the folder, and remove what a killed run left half written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for left in self.folder.glob(f".*{TEMPORARY}"):
            left.unlink()

    def load(self, identity: str, wanted: str | None = None) -> SubmissionGrade | None:
        """A stored grade; None where there is none, or none of the digest wanted.

        One that was not judged in full counts as not graded where a digest is wanted.
        """
        try:
            stored: dict[str, Any] = json.loads((self.folder / f"{identity}.json").read_bytes())
            if wanted is not None and (stored["digest"] != wanted or stored["failed"]):
                return None
            return from_json(stored["grade"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(
        self, identity: str, digest: str, grade: dict[str, Any], failed: bool = False
    ) -> SubmissionGrade:
        """Keep a grade, so that it outlives this process and the machine's next crash.

        failed: it was not judged in full, and the next run asks again.
        """
        kept = from_json(everywhere_printable(grade))
        stored = {"digest": digest, "failed": failed, "grade": kept.as_json()}
        write(self.folder / f"{identity}.json", as_json(stored), durable=True)
        return kept
