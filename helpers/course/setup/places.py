"""Where things are: the project, its Python environment, the user's cache and data."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NAME = "distributed-course"  # the cache folder, and the environment's name in environment.yml


def in_conda() -> bool:
    """Whether the conda environment of environment.yml is active."""
    return os.environ.get("CONDA_DEFAULT_ENV") == NAME and bool(os.environ.get("CONDA_PREFIX"))


def environment() -> Path:
    """The folder of the course's Python environment: `.venv`, or the active conda environment."""
    return Path(os.environ["CONDA_PREFIX"]) if in_conda() else ROOT / ".venv"


def scripts() -> Path:
    """The folder of the environment's commands."""
    return environment() / "bin"


def python() -> Path:
    """The environment's interpreter."""
    return scripts() / "python"


def grades() -> bool:
    """Whether this copy of the course is an instructor's: what students get cannot grade."""
    return (ROOT / "helpers" / "grade").is_dir()


def cache() -> Path:
    """The user's cache folder for the course; it need not exist yet."""
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / NAME
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / NAME


def data() -> Path:
    """The user's data folder for the course, which outlives the course's; it need not exist yet."""
    if os.environ.get("XDG_DATA_HOME"):
        return Path(os.environ["XDG_DATA_HOME"]) / NAME
    mac = sys.platform == "darwin"
    return Path.home() / ("Library/Application Support" if mac else ".local/share") / NAME


def logs() -> Path:
    """Where set-up of this checkout writes its logs: another one's are not mixed into them."""
    own = hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]
    return cache() / f"logs-{ROOT.name}-{own}"
