"""From a notebook's cells to the functions of its exercises, whatever happened to the cells.

What runs are not cells but top-level statements: those that define an exercise's function, and
those that define what it uses, in the notebook's order. So a demonstration costs nothing, and a
cell that was moved, split, doubled, renamed or cut to pieces does no harm.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import re
import symtable
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

_TIMING = re.compile(r"\A\s*%%(time|timeit|capture|prun)\b[^\n]*\n")


@dataclass
class Statement:
    """One top-level statement. binds: names that it defines or changes; loads: that it uses.

    number: in the notebook. index: in its cell.
    """

    number: int
    cell: int
    index: int
    node: ast.stmt
    binds: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)
    opaque: bool = False  # may define anything: a star import, exec, globals()

    @property
    def line(self) -> int:
        """Its line in its cell."""
        return self.node.lineno


@dataclass
class Notebook:
    """All statements of a notebook, and the cells that are no Python, as (cell, why)."""

    statements: list[Statement]
    broken: list[tuple[int, str, str]]


def read(
    cells: Sequence[str],
    before: Callable[[int], None] = lambda cell: None,
    only: Sequence[Sequence[int]] | None = None,
) -> Notebook:
    """Split cells into statements; a cell that does not parse is noted with its text and fault.

    before: told each cell's number before it is read. only: the statements that are wanted, as
    (cell, index in the cell); None for all.
    """
    wanted = None if only is None else {(cell, index) for cell, index in only}
    found: list[Statement] = []
    broken: list[tuple[int, str, str]] = []
    for number, source in enumerate(cells):
        if not source.strip():
            continue
        before(number)
        try:
            made = [
                _statement(len(found) + index, number, index, node)
                for index, node in enumerate(_parsed(source))
                if wanted is None or (number, index) in wanted
            ]
            found += made
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None)
            where = f" at line {line}" if line else ""
            broken.append((number, source, f"{type(error).__name__}{where}"))
    return Notebook(found, broken)


def _parsed(source: str) -> list[ast.stmt]:
    """A cell's statements, magics and shell commands included."""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        return ast.parse(source).body
    except SyntaxError:
        return ast.parse(TransformerManager().transform_cell(_TIMING.sub("", source))).body


def _statement(number: int, cell: int, index: int, node: ast.stmt) -> Statement:
    table = symtable.symtable(ast.unparse(node), "cell", "exec")
    made = Statement(number, cell, index, node, _bound(table), _globals(table))
    definition = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    if not definition:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Attribute | ast.Subscript):
                root = _root(inner)
                if root and (not isinstance(inner.ctx, ast.Load) or _is_called(node, inner)):
                    made.binds.add(root)  # it changes what that name stands for
            elif isinstance(inner, ast.ImportFrom):
                made.opaque |= inner.names[0].name == "*" or inner.module == "__future__"
        made.opaque |= bool(made.loads & {"exec", "globals", "locals", "setattr", "__import__"})
    return made


def _bound(table: symtable.SymbolTable) -> set[str]:
    """The names that a statement defines for the rest of the notebook."""
    symbols = table.get_symbols()
    return {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}


def _globals(table: symtable.SymbolTable) -> set[str]:
    """The names that a statement takes from the rest of the notebook, also in its functions."""
    outer = table.get_type() == "module"
    symbols = table.get_symbols()
    names = {s.get_name() for s in symbols if s.is_referenced() and (outer or s.is_global())}
    return names.union(*map(_globals, table.get_children()))


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_called(statement: ast.stmt, node: ast.expr) -> bool:
    """Whether the statement is just a call of this, such as `layers.append(3)`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and call.func is node


def is_stub(node: ast.stmt) -> bool:
    """Whether a definition is the lesson's open exercise: a docstring and one raise."""
    if not isinstance(node, ast.FunctionDef):
        return False
    body = [n for n in node.body if not (isinstance(n, ast.Expr) and _is_text(n.value))]
    return (
        len(body) == 1
        and isinstance(body[0], ast.Raise)
        and "is not done yet" in ast.unparse(body[0])
    )


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_open(statements: Sequence[Statement], name: str) -> bool:
    """Whether a function is still as the lesson has it."""
    fitting = [s for s in statements if name in s.binds]
    return bool(fitting) and all(is_stub(s.node) for s in fitting)


def needed(statements: Sequence[Statement], functions: Iterable[str]) -> list[Statement]:
    """The statements that define these functions and, step by step, what those use.

    An open exercise's stub does not count beside a definition that is done, wherever it stands.
    """
    useful = [s for s in statements if not _undone_twice(s, statements)]
    chosen: set[int] = {s.number for s in useful if s.opaque}
    names, seen = set(functions), set[str]()
    while names - seen:
        name = (names - seen).pop()
        seen.add(name)
        for statement in useful:
            if name in statement.binds:
                chosen.add(statement.number)
                names |= statement.loads - set(dir(builtins))
    return [s for s in useful if s.number in chosen]


def _undone_twice(statement: Statement, statements: Sequence[Statement]) -> bool:
    name = getattr(statement.node, "name", None)
    return is_stub(statement.node) and any(
        name in other.binds and not is_stub(other.node) for other in statements
    )


def run(statement: Statement, namespace: dict[str, Any], file: str, flags: int = 0) -> int:
    """Run one statement in a namespace. Raises whatever it raises.

    flags: of the compiler, from `from __future__` imports, which hold for what comes after them;
    returns them with this statement's.
    """
    node = statement.node
    exec(compile(ast.Module([node], []), file, "exec", flags, dont_inherit=True), namespace)
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        for alias in node.names:
            flags |= getattr(__future__, alias.name).compiler_flag
    return flags


def defined_in(broken: Sequence[tuple[int, str, str]], name: str) -> tuple[int, str] | None:
    """The last cell that is no Python and would define this function: its number, and why."""
    pattern = re.compile(rf"^\s*(?:async\s+)?(?:def|class)\s+{re.escape(name)}\b", re.MULTILINE)
    fitting = [(number, why) for number, source, why in broken if pattern.search(source)]
    return fitting[-1] if fitting else None
