"""Take what is private out of text that goes into a public bug report.

Rather too much than too little: paths, addresses, names of people and machines, and whatever looks
like a secret are replaced by a word in angle brackets.
"""

from __future__ import annotations

import ipaddress
import os
import platform
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from helpers.setup import places

# Names that many machines share, and that say nothing of a person.
COMMON = {"root", "user", "ubuntu", "debian", "jovyan", "vscode", "runner", "localhost", "home"}
SECRET = re.compile(r"token|secret|passw|key|auth|cred|cookie", re.IGNORECASE)
SHORTEST_SECRET = 6
SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib", "/dev/", "/proc/", "/sys/", "/etc/")

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s\"'<>)\]]+", re.IGNORECASE)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)*")
_MAC = re.compile(r"(?<![0-9a-f])([0-9a-f]{2}[:-]){5,}[0-9a-f]{2}\b|enx[0-9a-f]{12}", re.IGNORECASE)
_IP4 = re.compile(r"(?<![\d.])(\d{1,3}\.){3}\d{1,3}(?![\d.])")
_IP6 = re.compile(r"(?<![\w:])[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*(%\w+)?(?![\w:])", re.IGNORECASE)
_HOST = re.compile(
    r"(\bhost(?:name)?['\"]?\s*[=:]\s*)['\"]?[\w.-]+['\"]?|(?<![\w.-])(?!helpers\.)"
    r"(?:[\w-]+\.)+(?:com|org|net|edu|gov|lan|local|internal|intranet|corp)(?![\w-])",
    re.IGNORECASE,
)
_GIVEN = re.compile(  # token=…, "password": "…", Authorization: Bearer …
    rf"((?!KeyError)(?<![\w-])[\w-]*(?:{SECRET.pattern})[\w-]*['\"]?\s*[=:]\s*)"
    r"(?:(?:bearer|basic)\s+)?['\"]?[^\s'\",;]+",
    re.IGNORECASE,
)
_LONG = re.compile(r"(?<![^\W_])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}(?![^\W_])")
_UUID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_PREFIX = re.compile(r"\b(gh[a-z]_|github_pat_|glpat-|hf_|sk-|pypi-|xox[a-z]-|AKIA|eyJ)[\w.-]{8,}")
_WINDOWS = re.compile(r"\b[A-Z]:[\\/][^\s\"'<>|]*")
_QUOTED = re.compile(r"(['\"])([/~][^'\"\n]*)\1")
_PART = r"(?:/[^\s\"'<>()\[\],;:|`]+)"
_PATH = re.compile(rf"(?:(?<![\w.~>/…])|(?<=\s-[A-Z])){_PART}")  # -I/usr/include as well
_BELOW_HOME = re.compile(rf"~{_PART}")
_TELLING = re.compile(r"python[\d.]*|[\w+.-]+\.(py|so|c|cc|cpp|cu|h|hpp|log|whl|cmake|toml|cfg)")


def cut(text: str) -> str:
    """The text without what is private.

    Of a path, the last part stays where it lies in the system's own folders, and below the home
    folder where it is a Python's or a source file's name.
    """
    text = _ADDRESS.sub("<address>", text)
    for secret in _secrets():
        text = text.replace(secret, "<secret>")
    for folder, word in _folders():
        text = re.sub(rf"(?<![\w.]){re.escape(folder)}(?![\w-])", word, text)
    for name in os.environ:
        text = re.sub(rf"(?<![\w-]){re.escape(name)}=\S+", f"{name}=<cut>", text)
    text = _PREFIX.sub("<secret>", text)
    text = _MAIL.sub("<e-mail>", text)
    text = _GIVEN.sub(r"\1<secret>", text)
    text = _QUOTED.sub(lambda found: f"{found[1]}{_path(found[2])}{found[1]}", text)
    text = _WINDOWS.sub("<path>", text)
    text = _BELOW_HOME.sub(lambda found: _path(found[0]), text)
    text = _PATH.sub(lambda found: _path(found[0]), text)
    text = _HOST.sub(lambda found: f"{found[1] or ''}<host>", text)
    text = _UUID.sub("<secret>", text)
    text = _MAC.sub("<MAC>", text)
    text = _IP4.sub("<IP>", text)
    text = _IP6.sub(_ip6, text)
    text = _words(text, [*_machines(), *_servers()], "<host>")
    text = _words(text, _people(), "<user>")
    return _LONG.sub("<secret>", text)


def _folders() -> list[tuple[str, str]]:
    """Folders that are known, the longest first, each with the word that stands for it."""
    found = {os.path.expanduser("~"): "~", os.environ.get("HOME", ""): "~"}
    with suppress(RuntimeError):  # no home folder
        found |= {str(places.data()): "<data>", str(places.cache()): "<cache>"}
    found[str(places.ROOT)] = "<course>"
    found |= {os.path.realpath(folder): word for folder, word in found.items() if folder}
    return sorted((one for one in found.items() if len(one[0]) > 2), key=lambda one: -len(one[0]))


def _secrets() -> Iterator[str]:
    """The values in the environment whose names say that they are secrets."""
    for name, value in os.environ.items():
        if SECRET.search(name) and len(value) >= SHORTEST_SECRET:
            yield value


def _servers() -> Iterator[str]:
    """What the addresses in the environment are made of: a proxy's, a package index's."""
    for name, value in os.environ.items():
        if "://" not in value and not name.lower().endswith("_proxy"):
            continue
        for one in value.split(","):
            with suppress(ValueError):
                parts = urlsplit(one if "://" in one else f"//{one}")
                yield from filter(None, (parts.username, parts.password, parts.hostname))


def _machines() -> set[str]:
    """What this machine is called."""
    names = {socket.gethostname(), platform.node(), os.environ.get("HOSTNAME", "")}
    return names | {name.partition(".")[0] for name in names}


def _people() -> set[str]:
    """What the user is called: the account, its home folder, and the name in full."""
    names = {os.environ.get(one, "") for one in ("USER", "LOGNAME", "SUDO_USER", "USERNAME")}
    names.add(Path(os.path.expanduser("~")).name)
    with suppress(KeyError, ImportError):
        import pwd

        account = pwd.getpwuid(os.getuid())
        full = account.pw_gecos.partition(",")[0]
        names |= {account.pw_name, full, *full.split()}
    return names


def _words(text: str, names: Iterable[str], word: str) -> str:
    """The text with a word for each of the names, in small letters or capitals."""
    for name in sorted(set(names), key=len, reverse=True):
        if len(name) > 1 and name.lower() not in COMMON:
            ends = rf"(?<![^\W_]){re.escape(name)}(?![^\W_])"
            text = re.sub(ends, word, text, flags=re.IGNORECASE)
    return text


def _ip6(found: re.Match[str]) -> str:
    """The address cut, where it is one and not a time or a C++ name."""
    try:
        ipaddress.ip_address(found[0].partition("%")[0].rstrip("."))
    except ValueError:
        return found[0]
    return found[0] if found[0] == "::" else "<IP>"


def _path(path: str) -> str:
    last = path.rstrip("/").rpartition("/")[2]
    if path.startswith("~"):
        return f"~/…/{last if _TELLING.fullmatch(last) else ''}" if path != "~" else path
    return f"…/{last}" if path.startswith(SYSTEM) else "<path>"
