"""What a wrong answer must be told."""

from __future__ import annotations

from helpers.checks.spec import WrongAnswer


def is_its_own(answer: WrongAnswer, mistake: str, hint: str) -> bool:
    """Whether a hint is the one for this wrong answer. mistake: the name that it was told under."""
    return mistake == answer.name and bool(hint) if answer.says else answer.hint in hint
