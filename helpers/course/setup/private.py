"""Take what is private out of text that goes into a public bug report.

Rather too much than too little: paths, addresses, names of people and machines, and whatever looks
like a secret are replaced by a word in angle brackets.
"""

from __future__ import annotations

import ipaddress
import os
import platform
import pwd
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from helpers.course.setup import places

# Names that many machines share, and that say nothing of a person.
COMMON = {"root", "user", "ubuntu", "debian", "jovyan", "vscode", "runner", "localhost", "home"}
SECRET = r"token|secret|passw|key|auth|cred|cookie"
SHORTEST_SECRET = 6
SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib", "/dev/", "/proc/", "/sys/", "/etc/")

_ADDRESS = r"(?i)\b[a-z][a-z0-9+.-]*://[^\s\"'<>)\]]+"
_PART = r"(?:/[^\s\"'<>()\[\],;:|`]+)"
_TELLING = re.compile(r"python[\d.]*|[\w+.-]+\.(py|so|c|cc|cpp|cu|h|hpp|log|whl|cmake|toml|cfg)")


def cut(text: str) -> str:
    """The text without what is private.

    Of a path, the last part stays where it lies in the system's own folders, and below the home
    folder where it is a Python's or a source file's name.
    """
    for pattern, word in (*_known(), *LOOKS, *_names()):
        text = re.sub(pattern, word, text)
    return re.sub(r"(?<![^\W_])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}(?![^\W_])",
                  "<secret>", text)  # fmt: skip


def _path(path: str) -> str:
    last = path.rstrip("/").rpartition("/")[2]
    if path.startswith("~"):
        return f"~/…/{last if _TELLING.fullmatch(last) else ''}"
    return f"…/{last}" if path.startswith(SYSTEM) else "<path>"


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
    found = {os.path.expanduser("~"): "~", os.environ.get("HOME", ""): "~"}
    with suppress(RuntimeError):  # no home folder
        found |= {str(places.data()): "<data>", str(places.cache()): "<cache>"}
    found[str(places.ROOT)] = "<course>"
    found |= {os.path.realpath(folder): word for folder, word in found.items() if folder}
    for folder in sorted(found, key=len, reverse=True):
        if len(folder) > 2:
            yield rf"(?<![\w.]){re.escape(folder)}(?![\w-])", found[folder]
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
