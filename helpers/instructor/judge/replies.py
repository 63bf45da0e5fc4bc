"""What a child says of a call that it made, as an observation: every field looked at."""

from __future__ import annotations

from typing import Any

from helpers.checks.compare import Other
from helpers.checks.spec import Observation, Place
from helpers.engine.own_time import Undecided
from helpers.instructor.judge.channel import Violation
from helpers.worker.encoding import Malformed, decode
from helpers.worker.frames import Closed, Late

_TROUBLES = ("", "not done", "signature", "failed")  # what only the judge sees is not among them
_ON_REAL_RANKS = (*_TROUBLES, "deadlock", "timeout", "died")
_TEXT = 2000


def observed(args: list[Any], rank: int | None = None, real: bool = False) -> Observation:
    """The observation in a child's reply. real: of a run on real ranks. Raises Violation."""
    said = args[0] if len(args) == 1 else None
    if type(said) is not dict or set(said) != {"trouble", "kind", "text", "line", "values"}:
        raise Violation("no observation")
    trouble, line = said["trouble"], said["line"]
    possible = _ON_REAL_RANKS if real else _TROUBLES
    if type(trouble) is not str or trouble not in possible or type(line) is not int:
        raise Violation("no observation")
    place = Place("", line) if 0 < line < 100_000 else None
    return Observation(
        values=_values(said["values"]) if not trouble else [],
        trouble=trouble,  # type: ignore[arg-type]
        kind=_text(said["kind"], 80),
        text=_text(said["text"], _TEXT),
        rank=rank,
        place=place,
    )


def without_end(error: Exception, rank: int | None = None) -> Observation:
    """What is seen of a process whose connection gave this error."""
    if isinstance(error, Undecided):
        return Observation(trouble="not judged", rank=rank)
    if isinstance(error, Late):
        return Observation(trouble="timeout", text=error.how, rank=rank)
    gone = isinstance(error, Closed)
    text = "it was gone before it had answered." if gone else "it sent what no rank sends."
    return Observation(trouble="died", text=text, rank=rank)


def _values(data: Any) -> list[Any]:
    try:
        found = decode(data)
    except Malformed as error:
        return [Other(f"value that cannot be taken: {error}")]
    return found if type(found) is list else [Other("value that cannot be taken")]


def _text(value: Any, length: int) -> str:
    if type(value) is not str:
        raise Violation("no text")
    return value[:length]
