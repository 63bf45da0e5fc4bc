"""A block for a bug report: what this machine has, what set-up said, and nothing private.

Like `helpers.course.doctor`, it needs the standard library alone and answers where set-up failed.
"""

from __future__ import annotations

import ipaddress
import os
import platform
import pwd
import re
import socket
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from helpers.course import doctor
from helpers.course.setup import places, state
from helpers.course.setup.machine import usable_cores, usable_memory
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
    return doctor.line(one._replace(what=_links(one.what)) if one.name == "network links" else one)


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


# --- nothing private ------------------------------------------------------------------------------

# Names that many machines share, and that say nothing of a person.
COMMON = {"root", "user", "ubuntu", "debian", "jovyan", "vscode", "runner", "localhost", "home"}
SECRET = r"token|secret|passw|key|auth|cred|cookie"
SHORTEST_SECRET = 6
SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib", "/dev/", "/proc/", "/sys/", "/etc/")

_ADDRESS = r"(?i)\b[a-z][a-z0-9+.-]*://[^\s\"'<>)\]]+"
_PART = r"(?:/[^\s\"'<>()\[\],;:|`]+)"
_TELLING = re.compile(r"python[\d.]*|[\w+.-]+\.(py|so|c|cc|cpp|cu|h|hpp|log|whl|cmake|toml|cfg)")


def cut(text: str) -> str:
    """The text without what is private, rather too much than too little.

    Paths, addresses, names of people and machines, and whatever looks like a secret become a word
    in angle brackets. Of a path, the last part stays where it is a Python's or a source file's
    name, or lies in the system's own folders.
    """
    for pattern, word in (*_known(), *LOOKS, *_names()):
        text = re.sub(pattern, word, text)
    return re.sub(r"(?<![^\W_])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}(?![^\W_])",
                  "<secret>", text)  # fmt: skip


def _path(path: str) -> str:
    last = path.rstrip("/").rpartition("/")[2]
    return f"…/{last}" if path.startswith(SYSTEM) or _TELLING.fullmatch(last) else "<path>"


def _ip6(found: re.Match[str]) -> str:
    """The address cut, where it is one and not a time or a C++ name."""
    with suppress(ValueError):
        if str(ipaddress.ip_address(found[0].partition("%")[0].rstrip("."))) != "::":
            return "<IP>"
    return found[0]


# What tells by its looks that it is private, in this order, and what stands there instead.
LOOKS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"\b(gh[a-z]_|github_pat_|glpat-|hf_|sk-|pypi-|xox[a-z]-|AKIA|eyJ)[\w.-]{8,}", "<secret>"),
    (r"[\w.+-]+@[\w-]+(\.[\w-]+)*", "<e-mail>"),
    # token=…, "password": "…", Authorization: Bearer …
    (rf"(?i)((?!KeyError)(?<![\w-])[\w-]*(?:{SECRET})[\w-]*['\"]?\s*[=:]\s*)"
     r"(?:(?:bearer|basic)\s+)?['\"]?[^\s'\",;]+", r"\1<secret>"),
    (r"(['\"])([/~][^'\"\n]*)\1", lambda found: f"{found[1]}{_path(found[2])}{found[1]}"),
    (rf"~{_PART}", lambda found: _path(found[0])),
    # -I/usr/include as well
    (rf"(?:(?<![\w.~>/…])|(?<=\s-[A-Z])){_PART}", lambda found: _path(found[0])),
    (r"(?i)(\bhost(?:name)?['\"]?\s*[=:]\s*)['\"]?[\w.-]+['\"]?|(?<![\w.-])(?!helpers\.)"
     r"(?:[\w-]+\.)+(?:com|org|net|edu|gov|lan|local|internal|intranet|corp)(?![\w-])",
     lambda found: f"{found[1] or ''}<host>"),
    (r"(?i)\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<secret>"),
    (r"(?i)(?<![0-9a-f])([0-9a-f]{2}[:-]){5,}[0-9a-f]{2}\b|enx[0-9a-f]{12}", "<MAC>"),
    (r"(?<![\d.])(\d{1,3}\.){3}\d{1,3}(?![\d.])", "<IP>"),
    (r"(?i)(?<![\w:])[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*(%\w+)?(?![\w:])", _ip6),
)  # fmt: skip


def _known() -> Iterator[tuple[str, str]]:
    """What this machine's environment and folders say that is private, as patterns."""
    yield _ADDRESS, "<address>"
    for name, value in os.environ.items():
        if re.search(SECRET, name, re.IGNORECASE) and len(value) >= SHORTEST_SECRET:
            yield re.escape(value), "<secret>"
    # Folders by their names, which may have spaces in them.
    for folder in {str(places.ROOT), os.path.expanduser("~"), os.environ.get("HOME", "")}:
        if len(folder) > 2:
            yield rf"(?<![\w.]){re.escape(folder)}(?![\w-])", "~"
    for name in os.environ:
        yield rf"(?<![\w-]){re.escape(name)}=\S+", f"{name}=<cut>"


def _names() -> Iterator[tuple[str, str]]:
    """What machines and the user are called, the longest first, as patterns."""
    hosts = {socket.gethostname(), platform.node(), os.environ.get("HOSTNAME", "")}
    hosts |= {name.partition(".")[0] for name in hosts}
    users = {os.environ.get(one, "") for one in ("USER", "LOGNAME", "SUDO_USER", "USERNAME")}
    users.add(Path(os.path.expanduser("~")).name)
    with suppress(KeyError):
        account = pwd.getpwuid(os.getuid())
        full = account.pw_gecos.partition(",")[0]
        users |= {account.pw_name, full, *full.split()}
    # What the environment's addresses are made of: a proxy's, a package index's.
    for name, value in os.environ.items():
        for one in value.split(",") if "://" in value or name.lower().endswith("_proxy") else ():
            with suppress(ValueError):
                parts = urlsplit(one if "://" in one else f"//{one}")
                hosts |= {part for part in (parts.username, parts.password, parts.hostname) if part}
    for names, word in ((hosts, "<host>"), (users, "<user>")):
        for name in sorted(names, key=len, reverse=True):
            if len(name) > 1 and name.lower() not in COMMON:
                yield rf"(?i)(?<![^\W_]){re.escape(name)}(?![^\W_])", word
