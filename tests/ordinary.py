"""Commands as an ordinary user, where the tests run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.grade.sandbox.command import _open_to_all, interpreter

ROOT = Path(__file__).resolve().parents[1]
NOBODY = "65534"


def python_as_nobody() -> list[str]:
    """How Python is called as nobody, from the repository's folder. Skips where it cannot be."""
    if os.getuid() != 0:
        pytest.skip("The tests run as an ordinary user already.")
    unshare, setpriv = shutil.which("unshare"), shutil.which("setpriv")
    if unshare is None or setpriv is None:
        pytest.skip("util-linux's unshare and setpriv are missing.")
    own = [unshare, "--mount", "--propagation", "private", "sh", "-ec"]
    user = [setpriv, "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "env"]
    user += ["HOME=/tmp", "PYTHONDONTWRITEBYTECODE=1", sys.executable]
    command = [*own, shown([*interpreter(), ROOT]), "sh", *user]
    if subprocess.run([*command, "-c", "import torch"], cwd=ROOT).returncode:
        pytest.skip("An ordinary user cannot read this Python or this folder.")
    return command


def shown(paths: list[Path]) -> str:
    """Shell commands that show folders to everybody who may not enter those around them.

    Such as an interpreter in root's home: in a mount namespace of its own, an empty folder takes
    that home's place, with only the interpreter in it.
    """
    closed = [path for path in paths if not _open_to_all(path)]
    lines = ["mount -t tmpfs -o mode=755 tmpfs /mnt"]
    for number, path in enumerate(closed):
        lines += [f"mkdir /mnt/{number}", f"mount --bind '{path}' /mnt/{number}"]
    walls = {next(p for p in reversed(path.parents) if not _open_to_all(p)) for path in closed}
    lines += [f"mount -t tmpfs -o mode=755 tmpfs '{wall}'" for wall in sorted(walls)]
    for number, path in enumerate(closed):
        lines += [f"mkdir -p '{path}'", f"mount --move /mnt/{number} '{path}'"]
    return "\n".join([*lines, 'exec "$@"'])
