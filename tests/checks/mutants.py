"""The course's own answers with one thing exchanged: mistakes that nobody has listed.

A mutant that passes all cases and is not equal to the answer on every input shows a case that is
missing.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from copy import deepcopy as copy_of
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

Function = Callable[..., Any]
SPECS = re.compile(r"helpers\.lessons\.\w+\.exercises\b")
BUILT = re.compile(r"helpers\.lessons\.\w+\.algorithms\b|helpers\.engine\.servers\b")
OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.Break: ast.Continue, ast.Continue: ast.Break,
}  # fmt: skip
NAMES = {
    "float64": "float32", "float32": "float64", "float16": "float32", "bfloat16": "float16",
    "int8": "int16", "uint8": "int16", "int32": "int64", "int64": "int32", "double": "float",
    "min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "argmax": "argmin",
}  # fmt: skip
COPIES = ("clone", "copy", "detach", "contiguous", "array", "deepcopy", "list", "dict", "tolist")
DROPPED = (ast.Expr, ast.AugAssign, ast.If, ast.Delete, ast.Raise)


class Mutant(NamedTuple):
    """One answer. name: what is exchanged, free of line numbers."""

    name: str
    function: Function


def mutants(reference: Function) -> Iterator[Mutant]:
    """Of a function or a class, and of what it calls in its own module.

    A reference that stands in a spec and hands on to algorithms: of these, too.
    """
    parts = needed(reference)
    met: Counter[str] = Counter()
    for at, part in enumerate(parts):
        for said, changed in changes(part.node):
            met[f"{part.name}: {said}"] += 1
            times = met[f"{part.name}: {said}"]
            name = f"{part.name}: {said}" + (f" ({times})" if times > 1 else "")
            whole = [*parts[:at], part._replace(node=changed), *parts[at + 1 :]]
            yield Mutant(name, made(name, whole))


class Part(NamedTuple):
    """A top-level statement of a module: what it makes, and what it imports of other parts."""

    module: str
    name: str
    node: Any
    imports: dict[str, tuple[str, str]]


def needed(reference: Function) -> list[Part]:
    """The top-level statements that make a function or a class, its own first."""
    home = inspect.getmodule(reference)
    name = next((k for k, value in vars(home).items() if value is reference), None)
    if home is None or name is None:
        raise LookupError(f"{reference.__name__} stands under no name in its module.")
    found: dict[tuple[str, str], Part] = {}
    todo = [(home.__name__, name)]
    while todo:
        module, name = todo.pop(0)
        top = _tops(module).get(name)
        if top is None or (module, name) in found:
            continue
        imports = _tops_imported(module) | _imported([top])
        used = [node.id for node in ast.walk(top) if isinstance(node, ast.Name)]
        own = SPECS.match(module) is not None
        beyond = {k: v for k, v in imports.items() if own and BUILT.match(v[0]) and k in used}
        found[module, name] = Part(module, name, top, beyond)
        todo += [(module, each) for each in used] + list(beyond.values())
    return list(found.values())


@cache
def _tops(module: str) -> dict[str, ast.stmt]:
    """The statements of a module that make a function, a class or another value."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(inspect.getsource(import_module(module))).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call | ast.Lambda):
            names = [t.id for t in node.targets if isinstance(t, ast.Name)]
            found |= {name: node for name in names if name != "EXERCISE"}
    return found


@cache
def _tops_imported(module: str) -> dict[str, tuple[str, str]]:
    tree = ast.parse(inspect.getsource(import_module(module)))
    return _imported([node for node in tree.body if isinstance(node, ast.ImportFrom)])


def _imported(nodes: list[Any]) -> dict[str, tuple[str, str]]:
    """Local names, and what they stand for elsewhere."""
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for top in nodes
        for node in ast.walk(top)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def made(name: str, parts: list[Part]) -> Function:
    """The function of some statements, the first of which makes it, in modules like theirs."""
    names: dict[str, dict[str, Any]] = {}
    for number, part in enumerate(reversed(parts)):
        here = names.setdefault(part.module, dict(vars(import_module(part.module))))
        for local, (module, there) in part.imports.items():
            if module in names:
                here[local] = names[module][there]
        text = ast.unparse(
            ast.fix_missing_locations(WithoutImports(part).visit(copy_of(part.node)))
        )
        file = f"<{name}, {number}>"
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        flags = __future__.annotations.compiler_flag
        exec(compile(text, file, "exec", flags=flags, dont_inherit=True), here)
    found: Function = names[parts[0].module][parts[0].name]
    return found


class WithoutImports(ast.NodeTransformer):
    """Takes out the imports of what stands in the module already."""

    def __init__(self, part: Part) -> None:
        self.part = part

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """An import inside a function."""
        left = [a for a in node.names if (a.asname or a.name) not in self.part.imports]
        return ast.ImportFrom(node.module, left, node.level) if left else ast.Pass()


def changes(part: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """A definition with one thing exchanged, and what that is."""
    for at, node in enumerate(places(part)):
        for instead in replacements(node):
            changed = copy_of(part)
            old = places(changed)[at]
            changed = Exchange(old, copy_of(instead)).visit(changed)
            yield f"{shown(node)} → {shown(instead)}", ast.fix_missing_locations(changed)


class Exchange(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def places(part: ast.AST) -> list[ast.AST]:
    """The nodes of a definition, without annotations, decorators and docstrings."""
    found: list[ast.AST] = []
    for name, value in ast.iter_fields(part):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST) and not _is_text(node):
                found += [node, *places(node)]
    return found


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def shown(node: ast.AST) -> str:
    """A node in one short line."""
    return textwrap.shorten(" ".join(ast.unparse(node).split()), 60, placeholder=" …")


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand there instead."""
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        if type(node.op) in OPERATORS:
            yield _with(node, op=OPERATORS[type(node.op)]())
    elif isinstance(node, ast.Compare):
        if type(node.ops[0]) in OPERATORS:
            yield _with(node, ops=[OPERATORS[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node.operand
    elif isinstance(node, ast.Break | ast.Continue):
        yield OPERATORS[type(node)]()
    elif isinstance(node, ast.Constant):
        yield from map(ast.Constant, constants(node.value))
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield _with(node, id=NAMES[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield _with(node, attr=NAMES[node.attr])
    elif isinstance(node, ast.Slice):
        yield from _slices(node)
    elif isinstance(node, ast.Call):
        yield from calls(node)
    if isinstance(node, DROPPED):
        yield ast.Pass()


def constants(value: object) -> list[object]:
    """What may stand in the place of a constant: the next one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    return [2 * value] if isinstance(value, float) else []


def _slices(node: ast.Slice) -> Iterator[ast.AST]:
    for end in ("lower", "upper"):
        bound = getattr(node, end)
        if bound is not None and not isinstance(bound, ast.Constant):
            yield _with(node, **{end: _one_more(bound)})


def calls(node: ast.Call) -> Iterator[ast.AST]:
    """Two arguments exchanged, a bound by one, what was copied."""
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    plain = node.args and not any(isinstance(one, ast.Starred) for one in node.args)
    if len(node.args) >= 2 and plain:
        yield _with(node, args=[node.args[1], node.args[0], *node.args[2:]])
    if name == "range" and plain and not isinstance(node.args[-1], ast.Constant):
        yield _with(node, args=[*node.args[:-1], _one_more(node.args[-1])])
        yield _with(node, args=[*node.args[:-1], _one_more(node.args[-1], ast.Sub())])
    if name in COPIES:
        if plain and len(node.args) == 1:
            yield node.args[0]
        elif not node.args and isinstance(node.func, ast.Attribute):
            yield node.func.value


def _one_more(bound: ast.expr, sign: ast.operator | None = None) -> ast.expr:
    return ast.BinOp(bound, sign or ast.Add(), ast.Constant(1))


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    changed = copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed
