"""What drivers of functions that start threads share."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any


@contextmanager
def noting() -> Iterator[list[BaseException]]:
    """What ends threads meanwhile, or the work of a pool, which keeps it to itself."""
    faults = list[BaseException]()
    old, of_pool = threading.excepthook, Future.set_exception

    def note(hook: threading.ExceptHookArgs) -> None:
        if hook.exc_value is not None:
            faults.append(hook.exc_value)

    def keep(future: Any, error: BaseException | None) -> None:
        if error is not None:
            faults.append(error)
        of_pool(future, error)

    threading.excepthook = note
    Future.set_exception = keep  # type: ignore[method-assign,assignment]
    try:
        yield faults
    finally:
        threading.excepthook = old
        Future.set_exception = of_pool  # type: ignore[method-assign]


class Enough(Exception):
    """Too many runs: the session ends them."""
