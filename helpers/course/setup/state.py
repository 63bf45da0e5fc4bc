"""How far set-up has come, kept in the environment that it belongs to."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from helpers.course.setup import machine, places, system

VERSIONS = ("3.11", "3.12", "3.13")  # what the pinned set is for
ACCEPTED = "Python 3.11, 3.12 or 3.13"


def dependencies() -> list[str]:
    """What pyproject.toml asks for, as pip reads it."""
    with (places.ROOT / "pyproject.toml").open("rb") as file:
        wanted: list[str] = tomllib.load(file)["project"]["dependencies"]
    return wanted


def pinned(package: str) -> str:
    """A package at its version in constraints.txt, as in torch==2.13.0."""
    text = (places.ROOT / "constraints.txt").read_text(encoding="utf-8")
    return re.findall(rf"^{package}==\S+", text, re.MULTILINE)[0]


def key() -> str:
    """What was asked for: changes with the dependencies and with the pinned versions."""
    pins = (places.ROOT / "constraints.txt").read_bytes()
    return hashlib.sha256(json.dumps(dependencies()).encode() + pins).hexdigest()[:16]


def load() -> dict[str, Any]:
    """The environment's recorded state; empty where there is none, or it cannot be read."""
    try:
        known = json.loads((places.environment() / "course.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def save(known: dict[str, Any]) -> None:
    """Replace the recorded state in one move, so that it is never half written."""
    temporary = places.environment() / f"course.{os.getpid()}"
    try:
        temporary.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        os.replace(temporary, temporary.with_suffix(".json"))
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def version() -> str:
    """The running Python's version, as far as installed packages depend on it."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def complete() -> dict[str, Any]:
    """What is recorded once the packages are in and were seen to load."""
    return {"packages": key(), "python": version(), "root": str(places.ROOT)}


def installed() -> bool:
    """Whether the packages are in, of the environment that this Python is of; takes milliseconds.

    The shell script starts the environment's own Python wherever it exists.
    """
    inside = Path(sys.prefix).resolve() == places.environment().resolve()
    return inside and complete().items() <= load().items()


def horovod_settled() -> bool:
    """Whether Horovod is in, or is known to be out and nothing has changed since."""
    horovod = load().get("horovod", {})
    if horovod.get("wants") == "tools":
        return bool(system.missing_build_tools())
    # A failed build is tried again once its log is gone.
    return "wheel" in horovod or Path(horovod.get("log", "")).is_file()


def ready() -> bool:
    """Whether there is nothing left for set-up to do."""
    return installed() and horovod_settled()


def horovod_missing() -> str | None:
    """Why Horovod is left out; None where it is installed and its ranks can start."""
    horovod = load().get("horovod", {})
    if "wheel" in horovod:
        return machine.without_name() or None
    return str(horovod.get("missing", "Horovod is not built yet: ./course lab does, in minutes."))
