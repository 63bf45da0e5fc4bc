"""What stands in a learner's copy of the course for what `./course release` leaves out.

The cases that a lesson shows are kept as values; those that are hidden, the course's own answers
and the known wrong ones are not there.
"""

import json
from collections.abc import Callable
from typing import Any

from helpers.checks.spec import Case
from helpers.rooms import folder

CASES = "cases.json"
OUTCOMES = "outcomes.json"


class LeftOut(RuntimeError):
    """Asked for what this copy of the course does not have; the message says what to do."""


def visible(number: str) -> Callable[[int], list[Case]]:
    """The `cases` of an exercise such as "02.1": those of seed 0, and LookupError for others."""

    def cases(seed: int) -> list[Case]:
        from helpers.checks.encoding import decode

        if seed:
            raise LookupError("This copy of the course has only the cases that a lesson shows.")
        path = folder(number[:2]) / CASES
        held = json.loads(path.read_text(encoding="utf-8"))[number]
        return [Case(*decode(fields)) for fields in held]

    return cases


def left_out(what: str) -> Callable[..., Any]:
    """Stands for a function that is not in this copy; raises LeftOut where it is called."""
    return _absent(
        f"This copy of the course does not have its own {what}, since an exercise asks for it: do "
        "that exercise, and use yours."
    )


def waiting(number: str, function: str, name: str) -> Callable[..., Any]:
    """Stands for the answer to an open exercise, under the name that a lesson gives it.

    Raises LeftOut where it is called.
    """
    return _absent(
        f"`{name}` is your `{function}` of exercise {number}, which is open, and this copy of the "
        "course has none of its own: do that exercise first, and run the cell again that makes "
        f"`{name}`."
    )


def _absent(why: str) -> Callable[..., Any]:
    def absent(*args: Any, **options: Any) -> Any:
        raise LeftOut(why)

    absent.left_out = True  # type: ignore[attr-defined]
    return absent


def is_left_out(function: Any) -> bool:
    """Whether a function only stands for one that is not in this copy."""
    return getattr(function, "left_out", False) is True
