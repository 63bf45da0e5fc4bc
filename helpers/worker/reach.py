"""A statement of a notebook, and what it defines by calling functions that set names."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Statement:
    """One top-level statement. binds: names that it defines or changes; loads: that it uses.

    number: in the notebook. index: in its cell. at_once: what of `loads` it uses when it runs, not
    only when a function of its own does. star: a star import, or one that changes the compiler.
    free: it may define or use anything, as `exec(text)` may. gives: names that it does not define,
    but its functions do when they are called, with `global` or `globals()`; gives_free: any name.
    """

    number: int
    cell: int
    index: int
    node: ast.stmt
    binds: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)
    at_once: set[str] = field(default_factory=set)
    star: bool = False
    free: bool = False
    gives: set[str] = field(default_factory=set)
    gives_free: bool = False

    @property
    def line(self) -> int:
        """Its line in its cell."""
        return self.node.lineno


def is_definition(node: ast.stmt) -> bool:
    """Whether it is a `def` or a `class`."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


class Reach:
    """Follows names from the functions that set others to the statements that use them."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self._gives: dict[str, set[str]] = {}
        self._free: set[str] = set()
        changed = True
        while changed:
            changed = any([self._learn(statement) for statement in statements])

    def _learn(self, statement: Statement) -> bool:
        """Note what the names of a statement give to who uses them; whether that is news."""
        node = statement.node
        if is_definition(node):
            gives, free = set(statement.gives), statement.gives_free
            used = statement.loads - statement.at_once
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            gives, free, used = set[str](), statement.free, _handed_on(node, statement.loads)
        else:
            return False
        gives = gives.union(*(self._gives.get(name, ()) for name in used))
        free = free or not used.isdisjoint(self._free)
        news = False
        for name in statement.binds if gives or free else ():
            news |= not gives <= self._gives.get(name, set()) or (free and name not in self._free)
            self._gives.setdefault(name, set()).update(gives)
            self._free |= {name} if free else set()
        return news

    def is_free(self, statement: Statement) -> bool:
        """Whether it may define anything, itself or by what it calls."""
        return statement.free or not statement.at_once.isdisjoint(self._free)

    def sets(self, statement: Statement) -> set[str]:
        """The names that it sets by what it calls."""
        if self._gives.keys().isdisjoint(statement.at_once):
            return set()
        return set().union(*(self._gives.get(name, ()) for name in statement.at_once))


def _handed_on(node: ast.stmt, loads: set[str]) -> set[str]:
    """The names whose values live on in what is assigned: all but functions that are called.

    A class that is called makes an object, and that has the class's methods.
    """
    called = {
        call.func.id
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    }
    others = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    return {n for n in loads if n not in called or others.count(n) > 1 or n[:1].isupper()}
