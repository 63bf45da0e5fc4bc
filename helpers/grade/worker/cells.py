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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

_TIMING = re.compile(r"\A\s*%%(time|timeit|capture|prun)\b[^\n]*\n")
Fault = TypeVar("Fault")
_TIMED_LINE = re.compile(r"^(\s*)%(?:time|prun)\s+(?=[^\s-])", re.MULTILINE)


@dataclass
class Statement:
    """One top-level statement. binds: names that it defines or changes; loads: that it uses.

    number: in the notebook. index: in its cell. at_once: what of `loads` it uses when it runs, not
    only when a function of its own does. star: a star import, or one that changes the compiler.
    gives: names that its functions set when they are called, by `global`.
    """

    number: int
    cell: int
    index: int
    node: ast.stmt
    binds: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)
    at_once: set[str] = field(default_factory=set)
    star: bool = False
    gives: set[str] = field(default_factory=set)

    @property
    def line(self) -> int:
        """Its line in its cell."""
        return self.node.lineno


@dataclass
class Notebook:
    """All statements of a notebook, and the cells that are no Python: (cell, its text, fault)."""

    statements: list[Statement]
    broken: list[tuple[int, str, Exception]]


def read(cells: Sequence[str], before: Callable[[int], None] = lambda cell: None) -> Notebook:
    """Split cells into statements; a cell that does not parse is noted with its text and fault.

    before: told each cell's number before it is read.
    """
    found: list[Statement] = []
    broken: list[tuple[int, str, Exception]] = []
    for number, source in enumerate(cells):
        if not source.strip():
            continue
        before(number)
        try:
            found += [
                _statement(len(found) + index, number, index, node)
                for index, node in enumerate(_parsed(source))
            ]
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            broken.append((number, source, error))
    return Notebook(found, broken)


def _parsed(source: str) -> list[ast.stmt]:
    """A cell's statements, magics and shell commands included."""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        tree = ast.parse(source)
    except SyntaxError:
        plain = _TIMED_LINE.sub(r"\1", _TIMING.sub("\n", source))
        blank = plain[: -len(plain.lstrip()) or None].count("\n")  # IPython takes these lines away
        tree = ast.parse("\n" * blank + TransformerManager().transform_cell(plain))
    return tree.body


def _statement(number: int, cell: int, index: int, node: ast.stmt) -> Statement:
    table = symtable.symtable(ast.unparse(node), "cell", "exec")
    made = Statement(number, cell, index, node, _bound(table), _globals(table))
    made.loads |= set(_modules(node))
    made.gives = _set_inside(table)
    if is_definition(node):
        made.at_once = _used_at_once(table)
        return made
    made.loads -= _loop_variables(node)
    made.at_once = made.loads
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute | ast.Subscript):
            root = _root(inner)
            if root and (not isinstance(inner.ctx, ast.Load) or _is_called(node, inner)):
                made.binds.add(root)  # it changes what that name stands for
        elif isinstance(inner, ast.ImportFrom):
            made.star |= inner.names[0].name == "*" or inner.module == "__future__"
    match node:  # `%%writefile mine.py`, which another cell may import
        case ast.Expr(
            ast.Call(
                ast.Attribute(attr="run_cell_magic"),
                [
                    ast.Constant("writefile" | "file"),
                    ast.Constant(str(line)),
                    ast.Constant(str(text)),
                ],
            )
        ):
            made.binds.update(line.split()[-1:])
            made.loads.update(name for each in _parsed(text) for name in _modules(each))
    return made


def is_definition(node: ast.stmt) -> bool:
    """Whether it is a `def` or a `class`."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _modules(node: ast.stmt) -> Iterator[str]:
    """The modules that a statement imports, as "mine.py": a cell may write one."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import):
            yield from (f"{alias.name}.py" for alias in inner.names)
        elif isinstance(inner, ast.ImportFrom) and inner.module:
            yield f"{inner.module}.py"


def _loop_variables(node: ast.stmt) -> set[str]:
    """Names that a statement uses as its own loops have set them, not as others have."""
    own: set[str] = set()
    for loop in ast.walk(node):
        if isinstance(loop, ast.For | ast.AsyncFor):
            own |= {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
            own -= {n.id for n in ast.walk(loop.iter) if isinstance(n, ast.Name)}
    return own


def _used_at_once(table: symtable.SymbolTable) -> set[str]:
    """What a definition uses when it runs: in its decorators, its defaults, a class's own lines."""
    names = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    classes = [t for t in table.get_children() if t.get_type() == "class"]
    return names.union(*map(_used_at_once, classes))


def _bound(table: symtable.SymbolTable) -> set[str]:
    """The names that a statement defines for the rest of the notebook."""
    symbols = table.get_symbols()
    return {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}


def _globals(table: symtable.SymbolTable) -> set[str]:
    """The names that a statement takes from the rest of the notebook, also in its functions."""
    outer = table.get_type() == "module"
    symbols = [s for s in table.get_symbols() if s.is_referenced()]
    names = {s.get_name() for s in symbols if outer or s.is_global()}
    if table.get_type() == "class":  # which may read a name before it binds it: `n = checked(n)`
        names |= {s.get_name() for s in symbols if s.is_local() and not s.is_namespace()}
    return names.union(*map(_globals, table.get_children()))


def _set_inside(table: symtable.SymbolTable) -> set[str]:
    """The names that functions in it set by `global`."""
    found = set[str]()
    for inner in table.get_children():
        symbols = inner.get_symbols()
        found |= {s.get_name() for s in symbols if s.is_declared_global() and s.is_assigned()}
        found |= _set_inside(inner)
    return found


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_called(statement: ast.stmt, node: ast.expr) -> bool:
    """Whether the statement is just a call of this, such as `layers.append(3)`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and call.func is node


def name_of(statement: Statement) -> str:
    """The name of the function or class that a statement defines, or ""."""
    return str(getattr(statement.node, "name", ""))


def is_stub(node: ast.stmt) -> bool:
    """Whether a definition is the lesson's open exercise: a docstring and one raise.

    Of a class, whether one of its methods is: one that is half done is no answer either.
    """
    if isinstance(node, ast.ClassDef):
        return any(map(is_stub, node.body))
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


def needed(statements: Sequence[Statement], functions: Iterable[str]) -> list[Statement]:
    """The statements that define these functions and, step by step, what those use."""
    gives = {name: s.gives for s in statements if is_definition(s.node) for name in s.binds}
    chosen = {s.number for s in statements if s.star}
    names, seen = set(functions), set[str]()
    for statement in statements:
        names |= statement.loads if statement.star else set()
    while names - seen:
        name = (names - seen).pop()
        seen.add(name)
        for statement in statements:
            set_by_calls = set[str]().union(*(gives.get(each, ()) for each in statement.at_once))
            if name in statement.binds or name in set_by_calls:
                chosen.add(statement.number)
                names |= statement.loads - set(dir(builtins))
    return [s for s in statements if s.number in chosen]


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


def defined_in(broken: Iterable[tuple[Any, str, Fault]], name: str) -> tuple[Any, Fault] | None:
    """The last of these texts that would define this function: its cell, and why it does not."""
    one = re.escape(name)
    pattern = re.compile(
        rf"^[ \t]*(?:(?:async\s+)?def|class)\s+{one}\b"
        rf"|^{one}\s*(?::[^=\n]+)?=(?!=)|[\"']{one}[\"']",
        re.MULTILINE,
    )
    fitting = [(number, why) for number, source, why in broken if pattern.search(source)]
    return fitting[-1] if fitting else None
