"""Whether sandboxes work on this machine, and what to type where they do not."""

from __future__ import annotations

import platform
import subprocess
import sys

from helpers.course.setup.system import install_line, missing_sandbox_tools
from helpers.grade.sandbox import seccomp
from helpers.grade.sandbox.command import SandboxError, sandboxed
from helpers.grade.sandbox.limits import FIRST_UID, LIMITS

_SECONDS = 60
# What bubblewrap says, and what to do about it.
_OLD = "It is older than 0.8. Conda has a newer one: `conda install -c conda-forge bubblewrap`."
_CURES = {
    "--size": _OLD,
    "--disable-userns": _OLD,
    "uid map": (
        "This system forbids user namespaces to ordinary users. Where AppArmor does: "
        "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`."
    ),
    "execvp": (
        "Everybody must be able to read this Python: "
        f"`chmod -R a+rX {sys.base_prefix} {sys.prefix}`."
    ),
    "Operation not permitted": (
        "Inside a container: start it with `--privileged`, or grade outside of it."
    ),
    "namespace": (
        "This system forbids user namespaces to ordinary users: "
        "`sudo sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000`."
    ),
}


def missing(uid: int = FIRST_UID) -> str | None:
    """None where sandboxes work; otherwise what is missing, and what to type. It is really tried.

    uid: the ordinary user to try it as, where root asks.
    """
    if platform.system() != "Linux":
        return "Sandboxes need Linux. Grade on a Linux machine, or in a virtual one."
    if tools := missing_sandbox_tools():
        return f"To grade in a sandbox, {' and '.join(tools)} are missing: {install_line(tools)}"
    try:
        command = sandboxed([sys.executable, "-c", "pass"], {}, LIMITS, uid, seccomp.program())
    except SandboxError as error:
        return str(error)
    try:
        told = subprocess.run(
            command.words,
            pass_fds=command.fds,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"A sandbox does not start: {error}"
    finally:
        command.close()
    return explained(told.stderr.decode(errors="replace")) if told.returncode else None


def explained(said: str) -> str:
    """Why a sandbox does not start, from what it said, and what to do."""
    lines = said.strip().splitlines()
    last = lines[-1] if lines else "it says nothing."
    cure = next((cure for sign, cure in _CURES.items() if sign in said), "")
    return f"A sandbox does not start: {last} {cure}".strip()
