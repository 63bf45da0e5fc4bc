"""Which names of a notebook are still those of before, since the cell that defines them failed.

A cell with a syntax error, or one that ends in an exception, leaves the function of before where it
is, and a check of that would say "passed" about something else than what stands in the cell.
"""

from __future__ import annotations

import contextlib
import functools
import re
import symtable
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

_TIMING = re.compile(r"\A\s*%%(time|timeit|capture|prun)\b[^\n]*\n")
# Of a cell that is no Python: what it would define at its outermost level.
_DEFINES = re.compile(
    r"^(?:(?:async\s+)?def|class)\s+(\w+)|^(\w+)\s*(?::[^=\n]+)?=(?!=)", re.MULTILINE
)


@dataclass(frozen=True)
class Failed:
    """The last cell that would define a name. value: what the name stood for, and still does.

    why: such as "SyntaxError at line 3". cell: its number in the notebook, as in [7].
    """

    name: str
    value: Any
    why: str
    cell: int | None

    def told(self, function: str) -> str:
        """What is said of a check of `function`, which is this name or uses it."""
        cell = f"cell [{self.cell}]" if self.cell else "a cell"
        uses = "" if function == self.name else f" `{function}` uses it."
        return (
            f"The last cell that should define `{self.name}`, {cell}, did not run to its end "
            f"({self.why}), so `{self.name}` is still the one from before.{uses} Put that cell "
            "right and run it, then check again."
        )


class Cells:
    """Watches the cells of a notebook. names: the notebook's own."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.failed: dict[str, Failed] = {}
        self._before: dict[str, Any] = {}

    def begin(self, info: Any) -> None:
        """A cell is about to run; of what can be called, what is there is kept while it does."""
        self._before = {name: value for name, value in self.names.items() if callable(value)}

    def end(self, result: Any) -> None:
        """A cell has run, or could not."""
        before, self._before = self._before, {}
        error = result.error_before_exec or result.error_in_exec
        for name in defined(str(result.info.raw_cell or "")):
            self.failed.pop(name, None)
            if error is not None and name in before and self.names.get(name) is before[name]:
                number = result.execution_count
                self.failed[name] = Failed(name, before[name], _why(error), number)

    def behind(self, function: Any, called: str = "") -> Failed | None:
        """The failed cell that a function is not from; None where all that it uses is up to date.

        called: the name that counts where it is one of the function's.
        """
        old = [f for f in self.failed.values() if self.names.get(f.name) is f.value]
        if not old:
            return None
        names = [name for name, value in [*self.names.items()] if value is function]
        mine = [f for f in old if f.value is function]
        if mine and called in names:
            mine = [f for f in mine if f.name == called]
        used = {id(value) for value in _used(function, self.names)}
        return next((f for f in [*mine, *old] if f in mine or id(f.value) in used), None)


def _why(error: BaseException) -> str:
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    if line:
        return f"{type(error).__name__} at line {line}"
    if isinstance(error, KeyboardInterrupt):
        return "it was interrupted"
    try:
        said = str(error).splitlines()
    except Exception:  # whatever its class does
        said = []
    return f"{type(error).__name__}: {said[0][:200]}" if said else type(error).__name__


def defined(source: str) -> set[str]:
    """The names that a cell defines for the rest of the notebook, whether or not it is Python."""
    from IPython.core.inputtransformer2 import TransformerManager

    text = textwrap.dedent(_TIMING.sub("", source))
    try:
        text = TransformerManager().transform_cell(text)
        symbols = symtable.symtable(text, "cell", "exec").get_symbols()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {name for found in _DEFINES.findall(text) for name in found if name}
    return {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}


def _used(function: Any, names: Mapping[str, Any]) -> Iterator[Any]:
    """What a function uses of the notebook's own functions and classes, and what these use."""
    todo, seen = [function], {id(function)}
    while todo:
        for value in _parts(todo.pop(), names):
            if id(value) not in seen and callable(value):
                seen.add(id(value))
                yield value
                todo.append(value)


def _parts(value: Any, names: Mapping[str, Any]) -> Iterator[Any]:
    """What a function, class or object of the notebook is made of, one step down."""
    if isinstance(value, functools.partial):
        yield value.func
    elif isinstance(value, type) and value.__module__ == "__main__":
        yield from value.__bases__
        yield from (getattr(one, "__func__", one) for one in vars(value).values())
    elif isinstance(code := getattr(value, "__code__", None), CodeType):
        if getattr(value, "__module__", "") == "__main__":
            yield from (names[name] for name in set(_in_code(code)) if name in names)
        yield getattr(value, "__wrapped__", None)
        for cell in getattr(value, "__closure__", None) or ():
            with contextlib.suppress(ValueError):  # an empty one
                yield cell.cell_contents
    else:
        yield type(value)


def _in_code(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _in_code(constant)


_watched: Cells | None = None


def watch() -> None:
    """Watch this notebook's cells from now on; does nothing outside of one, or a second time."""
    global _watched
    shell = shell_here()
    if shell is None or (_watched is not None and _watched.names is shell.user_ns):
        return
    _watched = Cells(shell.user_ns)
    shell.events.register("pre_run_cell", _watched.begin)
    shell.events.register("post_run_cell", _watched.end)


def behind(function: Any, called: str = "") -> str:
    """What to say where a function is not what the notebook's cells say now; "" where it is."""
    found = _watched.behind(function, called) if _watched is not None else None
    return found.told(called or found.name) if found else ""


def in_notebook() -> bool:
    """Whether this code runs in a notebook's kernel."""
    return hasattr(shell_here(), "kernel")


def shell_here() -> Any:
    """IPython's shell, where this code runs in one; None elsewhere."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
