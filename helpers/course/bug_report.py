"""A block for a bug report: what this machine has, what set-up said, and nothing private.

Like `helpers.course.doctor`, it needs the standard library alone and answers where set-up failed.
"""

from __future__ import annotations

import platform
import re
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from helpers.course import doctor
from helpers.course.setup import places, state
from helpers.course.setup.machine import usable_cores, usable_memory
from helpers.course.setup.private import cut
from helpers.course.setup.progress import tail

PACKAGES = (
    *("pip", "torch", "tensorflow", "tf_keras", "horovod", "numpy", "torchao", "ai-edge-litert"),
    *("gymnasium", "optuna", "ipykernel", "ipywidgets", "jupyterlab", "matplotlib", "nbformat"),
)
LOG_LINES = 25
WIDEST = 200
_USUAL_LINKS = re.compile(r"(lo|eth|en|wl|ww|ib|hsi|docker|br|veth|virbr|bond)[\w-]*")


def show() -> int:
    """Print the block, and beside it, on stderr, what to do with it."""
    print("Read it before you paste it: nothing private should be in it.", file=sys.stderr)
    print(block())
    return 0


def block() -> str:
    """The report as a fenced block of plain text."""
    text = cut("\n".join(_lines())).replace("```", "'''")
    return "\n".join(["```text", *(line[:WIDEST].rstrip() for line in text.splitlines()), "```"])


def _lines() -> Iterator[str]:
    yield f"course      {_course()}"
    yield f"system      {_system()}"
    yield f"kernel      {platform.system()} {platform.release()}, {platform.machine()}"
    yield f"Python      {platform.python_version()}, {platform.python_implementation()}"
    memory = usable_memory()
    said = doctor.size(memory) if memory is not None else "memory not told"
    yield f"machine     {usable_cores():g} cores, {said}"
    yield textwrap.fill(f"packages    {_packages()}", 96, subsequent_indent=" " * 12)
    yield ""
    for look in doctor.LOOKS:
        yield _found(look)
    for log in _logs():
        yield f"\nThe end of {log.name}:"
        yield tail(log, LOG_LINES)


def _found(look: Callable[[], doctor.Finding]) -> str:
    """A line of doctor's; the others are wanted where one look fails, too."""
    try:
        one = look()
    except Exception as error:  # it is a report of what does not work
        return f"fails {look.__name__}: {type(error).__name__}: {error}"
    what = _links(one.what) if one.name == "network links" else one.what
    return f"{'has' if one.found else 'lacks':6}{one.name:15}{what}"


def _course() -> str:
    """The course's version, and the commit where it is a git checkout."""
    with (places.ROOT / "pyproject.toml").open("rb") as file:
        version = tomllib.load(file)["project"]["version"]
    kind = "" if places.grades() else ", a release"
    commit = _git("rev-parse", "--short=12", "HEAD")
    if not (places.ROOT / ".git").exists() or not commit:
        return f"{version}{kind}"
    changed = ", with changes" if _git("status", "--porcelain", "--untracked-files=no") else ""
    return f"{version}{kind}, commit {commit}{changed}"


def _git(*words: str) -> str:
    return doctor.first_line("git", "-C", str(places.ROOT), *words)


def _system() -> str:
    """The system's name and version, and its C library's."""
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    name = platform.system()
    with suppress(OSError):
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    library = " ".join(platform.libc_ver())
    wsl = ", WSL" if "microsoft" in platform.release().lower() else ""
    return f"{name}{wsl}, {library}".rstrip(", ")


def _packages() -> str:
    """The versions that are installed in the course's environment."""
    found = {name: doctor.installed(name) for name in PACKAGES}
    return ", ".join(f"{name} {version}" for name, version in found.items() if version) or "none"


def _links(what: str) -> str:
    """Network links by their usual names; another, such as a VPN's, may tell whose it is."""
    names = (one.partition(" ") for one in what.split(", "))
    return ", ".join(
        f"{name if _USUAL_LINKS.fullmatch(name) else 'another'} {rest}".strip()
        for name, _, rest in names
    )


def _logs() -> list[Path]:
    """The logs of what set-up could not do."""
    found = []
    if log := state.load().get("horovod", {}).get("log"):
        found.append(Path(log))
    if not state.ready():
        with suppress(OSError, RuntimeError):
            written = [path for path in places.logs().glob("*.log") if path.stat().st_size]
            found += sorted(written, key=lambda path: path.stat().st_mtime)[-1:]
    return [log for log in found if log.is_file()]
