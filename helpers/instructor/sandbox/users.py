"""Whose process a sandbox is, outside."""

from __future__ import annotations

import os

from helpers.instructor.grades import Mode

FIRST_UID = 61000  # where root grades, sandbox number n is user 61000 + n


def user_of(number: int, mode: Mode) -> int:
    """The user of a sandbox: where root grades one of its own, otherwise whoever grades."""
    own = os.getuid()
    return FIRST_UID + number if own == 0 and mode == "bubblewrap" else own


def is_its_own(uid: int) -> bool:
    """Whether no other process should be that user's."""
    return uid != os.getuid()
