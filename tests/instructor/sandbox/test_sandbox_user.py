"""Sandboxes of an ordinary user: where the tests run as root, some of them run again as nobody."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import in_sandbox
import pytest

from helpers.instructor.sandbox.command import _open_to_all, interpreter

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
NOBODY = "65534"
CHOSEN = (
    "nothing_of_the_repository or no_other_process or only_the_two or kernel_settings "
    "or fork_bomb or starter_was_killed"
)


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


def test_as_an_ordinary_user() -> None:
    in_sandbox.needs_sandbox()
    if os.getuid() != 0:
        pytest.skip("The tests run as an ordinary user already.")
    unshare, setpriv = shutil.which("unshare"), shutil.which("setpriv")
    if unshare is None or setpriv is None:
        pytest.skip("util-linux's unshare and setpriv are missing.")
    own = [unshare, "--mount", "--propagation", "private", "sh", "-ec"]
    script = shown([*interpreter(), ROOT])
    user = [setpriv, "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "env"]
    user += ["HOME=/tmp", "PYTHONDONTWRITEBYTECODE=1", sys.executable]
    if subprocess.run([*own, script, "sh", *user, "-c", "import torch"], cwd=ROOT).returncode:
        pytest.skip("An ordinary user cannot read this Python or this folder.")
    names = ("test_sandbox.py", "test_sandbox_limits.py", "test_sandbox_end.py")
    files = [str(Path(__file__).with_name(name)) for name in names]
    pytest_words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", CHOSEN, *files]
    told = subprocess.run(
        [*own, script, "sh", *user, *pytest_words], cwd=ROOT, capture_output=True, text=True
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert "6 passed" in told.stdout
