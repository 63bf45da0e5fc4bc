"""Call a learner's function for a case and note, in plain values, what it did.

This is the side that is not trusted: nothing here knows what is right.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from helpers.checks.compare import agree
from helpers.checks.drives.values import plain, tensors
from helpers.checks.spec import Case, Driver, Observation, Place

Function = Callable[..., Any]


def plain_call(fn: Function, case: Case) -> Observation:
    """Call an ordinary function once; its value is `values[0]`, and `written` is noted."""
    trouble = wrong_signature(fn, len(case.args[0]))
    if trouble:
        return trouble
    given = [tensors(a) for a in case.args[0]]
    try:
        seen = Observation(values=[plain(fn(*given))])
    except Exception as error:
        return failed(error, fn)
    places = [
        place for place, a in enumerate(given) if not agree(plain(a), plain(case.args[0][place]))
    ]
    seen.written = next(iter(places), None)
    return seen


def wrong_signature(fn: Function, arguments: int) -> Observation | None:
    """An observation where `fn` cannot be called with so many arguments, None where it can."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*range(arguments))
    except TypeError:
        names = ", ".join(signature.parameters)
        text = f"is called with {arguments} arguments, but yours takes ({names})."
        return Observation(trouble="signature", text=text)
    return None


def failed(error: Exception, fn: Function, rank: int | None = None) -> Observation:
    """An exception as an observation; an exercise that is not done yet is none."""
    text = str(error)
    if isinstance(error, NotImplementedError) and "is not done yet" in text:
        return Observation(trouble="not done", text=text, rank=rank)
    where, trail = None, error.__traceback__
    while trail is not None:
        if trail.tb_frame.f_code.co_filename == source_file(fn):
            where = Place(trail.tb_frame.f_code.co_filename, trail.tb_lineno)
        trail = trail.tb_next
    return Observation(
        trouble="failed", kind=type(error).__name__, text=text[:2000], rank=rank, place=where
    )


def source_file(fn: Any) -> str:
    """The file, or the cell, that a function or class was written in."""
    code = getattr(inspect.unwrap(fn) if callable(fn) else fn, "__code__", None)
    if code is None:
        members = (
            (getattr(m, "__code__", None) for m in vars(fn).values()) if inspect.isclass(fn) else ()
        )
        code = next((c for c in members if c is not None), None)
    return code.co_filename if code is not None else ""


def driver(arguments: int) -> Callable[[Callable[..., Any]], Driver]:
    """Make a driver of `call(fn, *the case's arguments)`: what that gives is `values[0]`.

    arguments: how many `fn` is called with.
    """

    def of(call: Callable[..., Any]) -> Driver:
        @wraps(call)
        def drive(fn: Function, case: Case) -> Observation:
            trouble = wrong_signature(fn, arguments)
            if trouble:
                return trouble
            try:
                return Observation(values=[call(fn, *tensors(case.args[0]))])
            except Exception as error:
                return failed(error, fn)

        return drive

    return of
