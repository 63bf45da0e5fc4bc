"""Room on the disk: looked at before anything large is written, and told where it ran out."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from helpers.setup import places, wanted
from helpers.setup.errors import DiskFull

GB = 1e9
# Measured as the most that is taken while pip works: it holds all downloads until all is written.
PACKAGES = 5.0 * GB
WITH_CUDA = 10.5 * GB
HOROVOD = 1.0 * GB
NOTHING = 0.02 * GB  # less than this left, and a download stops


def free(folder: Path) -> float:
    """Bytes that we may write where `folder` is, or will be."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return float(shutil.disk_usage(folder).free)


def told(count: float) -> str:
    """A number of bytes, as disks are sold: in GB of 10⁹ bytes."""
    return f"{count / GB:.1f} GB"


def full() -> str:
    """A sentence on the full disk; of the places that set-up writes to, it names the fullest."""
    folder = min((places.environment(), places.cache()), key=free)
    return (
        f"The disk is full: now {told(free(folder))} is free for {folder}. Free some space (all of "
        f"set-up takes about {PACKAGES / GB:g} GB, {WITH_CUDA / GB:g} GB where Linux gets "
        "PyTorch's CUDA build), then repeat the command: it goes on where it was."
    )


class Watch:
    """The least room that there was at a folder while a command ran.

    pip takes a full disk for a broken connection where it strikes in a download, and has made room
    again when it ends. A context manager.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lowest = free(folder)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._over.wait(0.5):
            with contextlib.suppress(OSError):
                self.lowest = min(self.lowest, free(self.folder))

    def ran_out(self) -> bool:
        """Whether nothing was left at some moment."""
        return self.lowest < NOTHING

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def look_before_all(environment: Path) -> None:
    """See that the packages may fit on the disk. Raises DiskFull where they cannot."""
    _look(environment, PACKAGES, "")


def look_before_packages(environment: Path, pip: list[str], env: Mapping[str, str]) -> None:
    """See that the packages fit on the disk. Raises DiskFull where they cannot.

    Only asks pip which build of torch it would take where the answer decides.
    """
    _look(environment, PACKAGES, "")
    if free(environment) < WITH_CUDA and sys.platform == "linux" and _cuda_comes(pip, env):
        _look(environment, WITH_CUDA, ", since PyTorch's CUDA build is what this machine gets")


def _look(environment: Path, wanted: float, why: str) -> None:
    left = free(environment)
    if left < wanted:
        raise DiskFull(
            f"The disk has too little room: {told(left)} is free for {environment}, and the "
            f"packages need about {wanted / GB:g} GB{why}. Free some space, or move the course "
            "to a larger disk, then repeat the command."
        )


def look_before_horovod() -> None:
    """See that Horovod can be built in the cache. Raises DiskFull where it cannot."""
    left = free(places.cache())
    if left < HOROVOD:
        raise DiskFull(
            f"Horovod takes about {HOROVOD / GB:g} GB while it is built, and {told(left)} is "
            f"free for {places.cache()}."
        )


def _cuda_comes(pip: list[str], env: Mapping[str, str]) -> bool:
    """Whether pip would install a build of torch that brings CUDA; no where pip cannot tell."""
    torch = next(one for one in wanted.dependencies() if one.startswith("torch=="))
    call = [*pip, "install", "--dry-run", "--no-deps", "--quiet", "--report", "-", torch]
    try:
        said = subprocess.run(call, capture_output=True, text=True, env=dict(env), timeout=120)
        asked = json.loads(said.stdout)["install"][0]["metadata"].get("requires_dist", [])
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError):
        return False
    return any(one.startswith(("nvidia-", "cuda-")) for one in asked)
