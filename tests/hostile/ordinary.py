"""How root runs the bank as an ordinary user, with an interpreter that lies in a folder of root's.

What that user may not reach is shown to it, and nothing else of the folder around it, in a mount
namespace of its own; this machine is not changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

UID = 60917  # nobody's


def hidden_by(path: Path) -> Path | None:
    """The outermost folder above a path that not everybody may enter; None where all are open."""
    above = [*reversed(path.parents), path]
    return next((p for p in above if p.is_dir() and not p.stat().st_mode & 0o001), None)


def interpreter() -> list[Path]:
    """The folders of this Python and of its packages."""
    found = {Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()}
    found.add(Path(os.path.realpath(sys.executable)).parent.parent)
    return sorted(found)


def as_user(uid: int = UID) -> list[str]:
    """What to put before a command so that it runs as this user."""
    words, script = [], "true"
    for path in interpreter():
        cover = hidden_by(path)
        if cover is not None:
            words += [str(path), str(cover)]
            script += (
                '; mount -t tmpfs -o mode=755 tmpfs /mnt; mkdir /mnt/shown; mount --bind "$1" '
                '/mnt/shown; mount -t tmpfs -o mode=755 tmpfs "$2"; mkdir -p "$1"; '
                'mount --move /mnt/shown "$1"; umount /mnt; shift 2'
            )
    rights = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
    if not words:
        return rights
    own = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", f'{script}; exec "$@"']
    return [*own, "sh", *words, *rights]


def why_not() -> str | None:
    """Why root cannot become an ordinary user who grades here; None where it can."""
    if os.getuid() != 0:
        return "This is an ordinary user already: the whole bank runs so."
    lacking = [name for name in ("setpriv", "unshare", "mount") if shutil.which(name) is None]
    if lacking:
        return f"To become an ordinary user, {lacking[0]} is needed (Debian: util-linux, mount)."
    code = "from helpers.instructor.sandbox import missing; print(missing() or '')"
    said = run([sys.executable, "-c", code])
    return said or None


def run(command: Sequence[str]) -> str:
    """What a command says, run as that user from the course's folder; its last line of trouble."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [*as_user(), *command],
        env={**os.environ, "HOME": "/tmp", "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    trouble = done.stderr.strip().splitlines()[-1:] if done.returncode else []
    return "".join(trouble) or done.stdout.strip()
