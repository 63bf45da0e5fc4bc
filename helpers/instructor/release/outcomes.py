"""What a lesson's known wrong answers do, found out once for each state of the course.

To run them takes from a second to a minute a lesson. What they did is kept in the user's cache,
under a name that stands for all of the package and for the versions that it runs on.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from helpers.checks import of_lesson
from helpers.checks.known import kept
from helpers.setup import places

_COMPUTES = ("torch", "numpy", "tensorflow")
_HELPERS = places.ROOT / "helpers"


def outcomes(lesson: str) -> dict[str, dict[str, object]]:
    """By exercise: what its known wrong answers do in the visible cases, as JSON data."""
    folder = places.cache() / "outcomes"
    path = folder / f"{lesson}-{state()}.json"
    with suppress(OSError, ValueError):
        held: dict[str, dict[str, object]] = json.loads(path.read_text(encoding="utf-8"))
        return held
    found = {exercise.number: kept(exercise) for exercise in of_lesson(lesson)}
    with suppress(OSError):  # a cache that cannot be written costs time, and nothing else
        _keep(path, json.dumps(found))
    return found


@cache
def state() -> str:
    """A short text that stands for the package's code and data, and what it runs on."""
    digest = hashlib.sha256(sys.version.encode())
    for name in _COMPUTES:
        with suppress(PackageNotFoundError):
            digest.update(version(name).encode())
    for path in sorted([*_HELPERS.rglob("*.py"), *_HELPERS.rglob("*.json")]):
        digest.update(str(path.relative_to(_HELPERS)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _keep(path: Path, text: str) -> None:
    """Write a file whole, and remove those of other states of the lesson."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for other in path.parent.glob(f"{path.name[:2]}-*.json"):
        other.unlink(missing_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
