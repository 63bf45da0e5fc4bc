"""A submission's cells as they run: its names, and what became of each function asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from types import ModuleType
from typing import Any

from helpers.grade.worker import cells
from helpers.grade.worker.cells import Statement
from helpers.grade.worker.shell import Shell

_FILE = "<cell {}>"
_TEXT = 2000
NO_FUNCTION = "not a function"  # the kind of a fault


def own_names() -> dict[str, Any]:
    """The names of a notebook, empty but for what every notebook has.

    They are those of the module `__main__`, as in a notebook, so that `sys.modules[__name__]` and
    `import __main__` reach them.
    """
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    names = vars(module)
    names["get_ipython"] = Shell
    return names


class Submission:
    """The cells of a submission. tell: is told each step, (cell, statement), before it is taken.

    skip: steps that ended an earlier process; (cell, -1) is reading a cell.
    """

    def __init__(
        self,
        names: dict[str, Any],
        functions: Sequence[str],
        skip: Collection[tuple[int, int]],
        tell: Callable[[int, int], None],
    ) -> None:
        self.names, self.functions, self.skip, self.tell = names, functions, skip, tell
        self.faults: dict[str, list[Any]] = {}
        self._stubs: dict[str, Any] = {}

    def run(self, sources: Sequence[str]) -> dict[str, Any]:
        """Run what the functions need; the state of each function."""
        texts = ["" if (n, -1) in self.skip else text for n, text in enumerate(sources)]
        notebook = cells.read(texts, lambda cell: self.tell(cell, -1))
        self._run_all(cells.needed(notebook.statements, self.functions))
        return {name: self._state(name, notebook) for name in self.functions}

    def _run_all(self, chosen: Sequence[Statement]) -> None:
        """Run statements, in order.

        One that lacks a name which another defines comes again when all had their turn, so cells
        in another order do no harm.
        """
        defined = set[str]().union(*(statement.binds for statement in chosen))
        flags, turn = 0, list(chosen)
        while turn:
            later: list[Statement] = []
            for statement in turn:
                if (statement.cell, statement.index) in self.skip:
                    self._failed(statement, ["skipped", "", statement.cell, statement.index])
                elif not self._answered(statement):
                    flags, error = self._run_one(statement, flags)
                    if isinstance(error, NameError) and error.name in defined:
                        later.append(statement)
            turn = later if len(later) < len(turn) else []

    def _run_one(self, statement: Statement, flags: int) -> tuple[int, BaseException | None]:
        """Run one statement; the compiler's flags from now on, and what it raised."""
        self.tell(statement.cell, statement.index)
        file, error = _FILE.format(statement.cell + 1), None
        try:
            flags = cells.run(statement, self.names, file, flags)
        except BaseException as raised:
            error = raised
            fault = [type(error).__name__, _said(error), statement.cell]
            fault.append(_line(file) or statement.line)
            self._failed(statement, fault)
        if error is None and cells.is_stub(statement.node):
            name = cells.name_of(statement)
            self._stubs[name] = self.names.get(name)
        return flags, error

    def _failed(self, statement: Statement, fault: list[Any]) -> None:
        self.faults.update(dict.fromkeys(statement.binds, fault))

    def _answered(self, statement: Statement) -> bool:
        """Whether it is an open exercise's stub beside an answer, which counts wherever it
        stands."""
        value = self.names.get(name := cells.name_of(statement))
        stub = cells.is_stub(statement.node)
        return stub and callable(value) and value is not self._stubs.get(name)

    def _state(self, name: str, notebook: cells.Notebook) -> Any:
        """What a function is: "there", "open", "missing", or why the cell that defines it failed,
        as (kind, text, cell, line)."""
        value = self.names.get(name)
        is_stub = callable(value) and value is self._stubs.get(name)
        if callable(value) and not is_stub:
            return "there"
        broken = cells.defined_in(notebook.broken, name)
        if name in self.faults:
            return self.faults[name]
        if broken:
            cell, error = broken
            line = getattr(error, "lineno", None) or 0
            return [type(error).__name__, getattr(error, "msg", _said(error)), cell, line]
        if is_stub:  # of a class, some methods may be done: its calls will tell
            return "there" if isinstance(value, type) else "open"
        if name in self.names:
            return [NO_FUNCTION, type(value).__name__, *_place(name, notebook.statements)]
        return "missing"


def _place(name: str, statements: Sequence[Statement]) -> tuple[int, int]:
    """The cell and the line that define a name last."""
    return next(((s.cell, s.line) for s in reversed(statements) if name in s.binds), (0, 0))


def _line(file: str) -> int:
    """The last line of a cell on the way to the exception that is being handled, 0 for none."""
    line, trail = 0, sys.exc_info()[2]
    while trail is not None:
        line = trail.tb_lineno if trail.tb_frame.f_code.co_filename == file else line
        trail = trail.tb_next
    return line


def _said(error: BaseException) -> str:
    try:
        return str(error)[:_TEXT]
    except Exception:  # whatever its class does
        return ""
