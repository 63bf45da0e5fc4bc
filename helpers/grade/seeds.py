"""The seed of a submission's hidden cases: the same each time, and known to nobody else."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from helpers.course.setup.places import NAME
from helpers.grade.wish import GradingError

LENGTH = 32


def key_file() -> Path:
    """Where the key is unless --key names another file."""
    configured = os.environ.get("XDG_CONFIG_HOME")
    return (Path(configured) if configured else Path.home() / ".config") / NAME / "grading.key"


def load_key(named: Path | None) -> bytes:
    """The key: 32 bytes at least, made on first use where it is not named. Raises GradingError."""
    path = named or key_file()
    try:
        if named is None:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with open(descriptor, "wb") as file:
                    file.write(secrets.token_bytes(LENGTH))
        key = path.read_bytes()
    except OSError as error:
        own = "leave --key out to use your own" if named else "put that right"
        raise GradingError(
            f"The key {path} cannot be read ({error.strerror}); name a file with --key, or {own}."
        ) from None
    if len(key) < LENGTH:
        raise GradingError(
            f"The key {path} has {len(key)} bytes; it needs {LENGTH} random ones, for instance by "
            f"head -c {LENGTH} /dev/urandom > {path.name}"
        )
    return key


def fingerprint(key: bytes) -> str:
    """By which two keys are told apart; says nothing about the key."""
    return hmac.new(key, b"fingerprint", hashlib.sha256).hexdigest()[:16]


def seed(key: bytes, lesson: str, raw: str) -> int:
    """63 bits from the key, the lesson and the student's name; never 0, the learner's own seed."""
    told = lesson.encode() + b"\0" + os.fsencode(raw)
    digest = hmac.new(key, told, hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big") >> 1 or 1
