"""How far set-up has come, kept in the environment that it belongs to."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from helpers.setup import disk, places, system, wanted

VERSIONS = ("3.11", "3.12", "3.13")  # what the pinned set is for
ACCEPTED = "Python 3.11, 3.12 or 3.13"


def key() -> str:
    """What was asked for: changes with the dependencies and with the pinned versions."""
    pinned = (places.ROOT / "constraints.txt").read_bytes()
    return hashlib.sha256(json.dumps(wanted.dependencies()).encode() + pinned).hexdigest()[:16]


def path(environment: Path) -> Path:
    return environment / "course.json"


def load(environment: Path) -> dict[str, Any] | None:
    """The recorded state, or None where there is none or it cannot be read."""
    try:
        state = json.loads(path(environment).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return state if isinstance(state, dict) else None


def save(environment: Path, state: dict[str, Any]) -> None:
    """Replace the recorded state in one move, so that it is never half written."""
    temporary = path(environment).with_suffix(f".{os.getpid()}")
    try:
        temporary.write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")
        os.replace(temporary, path(environment))
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def version() -> str:
    """The running Python's version, as far as installed packages depend on it."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def horovod_settled(state: dict[str, Any]) -> bool:
    """Whether Horovod is in, or is known to be out and nothing has changed since."""
    horovod = state.get("horovod")
    if not isinstance(horovod, dict):
        return False
    if "wheel" in horovod:
        return True
    if horovod.get("wants") == "tools":
        return bool(system.missing_build_tools(system.headers()))
    if horovod.get("wants") == "room":
        return disk.free(places.cache()) < disk.HOROVOD
    # A failed build is tried again once its log is gone.
    return not horovod.get("log") or Path(horovod["log"]).exists()


def ready() -> bool:
    """Whether everything is installed and was seen to work; costs milliseconds.

    True only when it runs in the environment's own Python: the shell script starts that one
    wherever it exists.
    """
    environment = places.environment()
    if not environment.exists() or Path(sys.prefix).resolve() != environment.resolve():
        return False
    state = load(environment)
    return (
        state is not None
        and state.get("python") == version()
        and state.get("root") == str(places.ROOT)
        and state.get("packages") == key()
        and state.get("checked") == state.get("packages")
        and horovod_settled(state)
    )


def horovod_missing() -> str | None:
    """Why Horovod is left out, in one sentence; None where it is installed."""
    state = load(places.environment()) or {}
    horovod = state.get("horovod") or {}
    if "wheel" in horovod:
        return None
    return str(horovod.get("missing", "Horovod is not installed."))
