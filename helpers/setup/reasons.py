"""Why a command failed, read from its log and said in a sentence."""

from __future__ import annotations

import errno
import re
from pathlib import Path

# What pip, compilers and CMake print where nothing more can be written.
FULL = re.compile(
    r"No space left on device|Disk quota exceeded|\[Errno (28|122|69)\]"
    r"|There is not enough space on the disk"
)
# What pip prints where it reaches nobody.
UNREACHED = re.compile(
    r"Failed to establish a new connection|NewConnectionError|NameResolutionError|ProxyError"
    r"|name resolution|Name or service not known|nodename nor servname|getaddrinfo failed"
    r"|Network is unreachable|No route to host|Connection (refused|reset|aborted|broken)"
    r"|ConnectTimeoutError|ReadTimeoutError|Read timed out|Max retries exceeded|IncompleteRead"
    r"|Connection interrupted|incomplete-download"
)
UNTRUSTED = re.compile(r"CERTIFICATE_VERIFY_FAILED|certificate verify failed", re.IGNORECASE)
# What pip prints as it gets on: trouble before such a line was overcome.
GETS_ON = re.compile(r"\s*(Collecting|Downloading|Processing|Using cached|Installing collected) ")

COMPLAINS = re.compile(
    r"\berror: |CMake Error|^ERROR: |^[\w./-]*\bld(\.\w+)?: (?!warning)|^make: \*\*\* No rule"
)

NO_NETWORK = (
    "This machine reaches no network, or not the place that Python packages come from; set-up "
    "needs it for its downloads. Connect it (behind a proxy: HTTPS_PROXY=… in front of the "
    "command), then repeat the command: it goes on where it was."
)
NOT_TRUSTED = (
    "The place that Python packages come from shows a certificate that this machine does not "
    "trust, as in networks that look into their traffic. Name your network's certificate file "
    "with PIP_CERT=… in front of the command, then repeat it: it goes on where it was."
)


def is_full(error: OSError) -> bool:
    """Whether a write failed for lack of space, or of quota."""
    return error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


def disk_was_full(log: Path) -> bool:
    """Whether the last command of this log ran into a full disk."""
    return any(FULL.search(line) for line in _last_command(log))


def unconnected(log: Path) -> str | None:
    """A sentence on the network where that ended the last command of this log; else None."""
    trouble = None
    for line in _last_command(log):
        if UNTRUSTED.search(line):
            trouble = NOT_TRUSTED
        elif UNREACHED.search(line):
            trouble = trouble or NO_NETWORK
        elif GETS_ON.match(line):
            trouble = None
    return trouble


def has_written(log: Path) -> bool:
    """Whether the last command of this log was pip, and had begun to write packages."""
    return any(line.startswith("Installing collected packages") for line in _last_command(log))


def first_error(log: Path) -> str:
    """The first complaint of a log, or the reason that CMake gives below it; or an empty text."""
    lines = [line.strip() for line in _lines(log)]
    for number, line in enumerate(lines):
        if COMPLAINS.search(line):
            return (_given_below(lines, number) or line)[:300]
    return ""


def _given_below(lines: list[str], number: int) -> str:
    """The paragraph under a heading like `CMake Error at FILE:LINE (message):`, in one line."""
    if not re.match(r"CMake Error (at|in) .*:$", lines[number]):
        return ""
    words: list[str] = []
    for line in lines[number + 1 :]:
        if line.startswith("Call Stack") or (not line and words):
            break
        words.append(line)
    return f"CMake: {' '.join(words).strip()}" if any(words) else ""


def _last_command(log: Path) -> list[str]:
    """What the last command printed; set-up writes each command behind a dollar sign."""
    lines = _lines(log)
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    return lines[starts[-1] :] if starts else lines


def _lines(log: Path) -> list[str]:
    if not log.exists():
        return []
    return log.read_text(encoding="utf-8", errors="replace").splitlines()
