"""Names that code sets or uses by their text: `globals()["fit"] = …`, `exec("def fit(): …")`.

What can be read from the text is: `setattr(sys.modules[__name__], "fit", made)` sets `fit` and
nothing else. Where it cannot, as in `exec(text)`, the code may touch any name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from helpers.worker.reach import Statement

_SPACE_ATTRIBUTES = {"f_globals", "f_locals", "__globals__", "user_ns", "user_global_ns"}
_READ = {"keys", "items", "values", "copy", "__len__"}
_ONE_READ = {"get", "__getitem__", "__contains__"}
_ONE_SET = {"setdefault", "__setitem__", "pop", "__delitem__"}
_HARMLESS = {"len", "list", "sorted", "dict", "print", "set", "tuple", "id", "type", "iter", "bool"}
_MAGIC = {"run_line_magic", "run_cell_magic", "system", "getoutput", "magic"}
_TEXT = 200_000  # characters of a text that is read as code
_HINTS = re.compile(
    r"\b(?:globals|vars|locals|exec|eval|[sgd]e[tl]attr|hasattr|get_ipython|__main__|__import__|"
    r"import_module|modules|f_globals|f_locals|__globals__|user_ns|user_global_ns|global)\b"
)


Parse = Callable[[str], list[Statement]]  # the statements of code, as `exec` is given it


@dataclass
class Touched:
    """binds: names that are set or changed; loads: that are used; anything: or any other."""

    binds: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)
    anything: bool = False


def touched(node: ast.AST, text: str, parse: Parse) -> Touched:
    """What a piece of code touches by names' texts, and by `global` in its functions.

    text: of the code. parse: for code in texts that are run. Where the code has none of the words
    that this takes, nothing is looked at.
    """
    found = _Finder(parse)
    if _HINTS.search(text):
        found.visit(node)
    return found.touched


def words(node: ast.AST) -> set[str]:
    """The words in the texts of a piece of code, which may be code themselves."""
    texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
    found = (text.replace(".", " ") for text in texts if isinstance(text, str))
    return {word for text in found for word in _identifiers(text[:_TEXT])}


def _identifiers(text: str) -> set[str]:
    apart = "".join(c if c.isalnum() or c == "_" else " " for c in text)
    return {word for word in apart.split() if word.isidentifier()}


class _Finder(ast.NodeVisitor):
    """Looks at the outermost use of a namespace first; one that fits no pattern may do anything."""

    def __init__(self, parse: Parse) -> None:
        self.parse, self.touched = parse, Touched()
        self.depth = 0  # in how many functions

    def _inside(self, node: ast.AST) -> None:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _inside

    def visit_Global(self, node: ast.Global) -> None:
        self.touched.binds.update(node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module == "__main__":
            self.touched.loads.update(alias.name for alias in node.names)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if self._is_space(node.value):
            self._one(node.slice, binds=not isinstance(node.ctx, ast.Load))
            self.visit(node.slice)
        elif _is_module(node):
            self.touched.anything = True
        else:
            self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self._is_space(node):
            self.touched.anything = True
        elif _is_module(node.value):
            names = self.touched.loads if isinstance(node.ctx, ast.Load) else self.touched.binds
            names.add(node.attr)
        else:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id == "__main__" and isinstance(node.ctx, ast.Load):
            self.touched.anything = True

    def visit_Compare(self, node: ast.Compare) -> None:
        contains = isinstance(node.ops[0], ast.In | ast.NotIn)
        if contains and len(node.ops) == 1 and self._is_space(node.comparators[0]):
            if isinstance(node.left, ast.Constant):
                self._one(node.left, binds=False)
            self.visit(node.left)
        else:
            self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        parts: list[ast.AST] = [node.target, *node.body, *node.orelse]
        for part in parts if self._is_space(node.iter) else [*parts, node.iter]:
            self.visit(part)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for part in node.ifs if self._is_space(node.iter) else [node.iter, *node.ifs]:
            self.visit(part)

    def visit_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            for part in [] if key is None and self._is_space(value) else [key, value]:
                if part is not None:
                    self.visit(part)

    def visit_Call(self, node: ast.Call) -> None:
        arguments: list[ast.AST] = [*node.args]
        for word in node.keywords:  # `f(**globals())`, `timeit(…, globals=globals())` only read
            if not (word.arg in (None, "globals", "locals") and self._is_space(word.value)):
                arguments.append(word.value)
        if isinstance(node.func, ast.Name):
            left = self._function(node.func.id, node)
        elif isinstance(node.func, ast.Attribute):
            left = self._method(node.func, node)
        else:
            left = None
        for part in [node.func, *arguments] if left is None else left:
            self.visit(part)

    def _function(self, name: str, node: ast.Call) -> Sequence[ast.AST] | None:
        """A call of a function by its name; what of it is still to be looked at, None for all."""
        args: list[ast.expr] = node.args
        if self._is_space(node) or (name == "get_ipython" and not args):
            self.touched.anything |= self._is_space(node)
            return []
        if name in _HARMLESS and args and self._is_space(args[0]):
            return args[1:]
        if name in ("setattr", "delattr", "getattr", "hasattr") and len(args) > 1:
            if not _is_module(args[0]):
                if name in ("setattr", "delattr"):
                    self.touched.binds |= {_root(args[0])} - {""}
                return None
            self._one(args[1], binds=name in ("setattr", "delattr"))
            return args[1:]
        if name in ("exec", "eval") and args:
            into = args[1] if len(args) > 1 else None
            if into is None or self._is_space(into):
                self._code(args[0])
            else:
                self.touched.binds |= {_root(into)} - {""}
            return [args[0], *([] if into is None or self._is_space(into) else args[1:])]
        if name in ("__import__", "import_module") and _is_module(node):
            self.touched.anything = True
        return None

    def _method(self, func: ast.Attribute, node: ast.Call) -> Sequence[ast.AST] | None:
        """A call of a method; what of it is still to be looked at, None for all."""
        args: list[ast.expr] = node.args
        if self._is_space(func.value):
            if func.attr in _READ:
                return args
            if func.attr in _ONE_READ | _ONE_SET and args:
                self._one(args[0], binds=func.attr in _ONE_SET)
            elif func.attr == "update":
                self._many(node)
            else:
                self.touched.anything = True
            return [*args, *(word.value for word in node.keywords)]
        if _is_call(func.value, "get_ipython"):
            if func.attr in ("ex", "run_cell") and args:
                self._code(args[0])
            elif func.attr == "push":
                self._many(node)
            elif func.attr == "run_cell_magic":
                self._file(args)
            return [] if func.attr in _MAGIC else args
        if _is_module(node):
            self.touched.anything = True
            return []
        return None

    def _one(self, key: ast.expr, binds: bool) -> None:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            (self.touched.binds if binds else self.touched.loads).add(key.value)
        else:
            self.touched.anything = True

    def _many(self, node: ast.Call) -> None:
        """The names that `update(…)` sets."""
        for argument in node.args:
            if isinstance(argument, ast.Dict) and all(argument.keys):
                for key in filter(None, argument.keys):
                    self._one(key, binds=True)
            elif _is_call(argument, "dict") and not argument.args:  # type: ignore[attr-defined]
                self._many(argument)  # type: ignore[arg-type]
            else:
                self.touched.anything = True
        self.touched.binds |= {word.arg for word in node.keywords if word.arg}
        self.touched.anything |= any(word.arg is None for word in node.keywords)

    def _file(self, args: Sequence[ast.expr]) -> None:
        """A cell that is written to a file: modules are names such as "mine.py" here."""
        match args:
            case [ast.Constant("writefile" | "file"), ast.Constant(str(line)), text]:
                inner = Touched()
                self.touched, outer = inner, self.touched
                self._code(text)
                self.touched = outer
                outer.binds.update(line.split()[-1:])
                outer.loads |= {name for name in inner.loads if name.endswith(".py")}

    def _code(self, text: ast.expr) -> None:
        """Code that is run from its text."""
        if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
            self.touched.anything = True
            return
        try:
            inner = self.parse(text.value[:_TEXT])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.touched.anything = True  # what it was to define is not known
            return
        for statement in inner:
            self.touched.binds |= statement.binds
            self.touched.loads |= statement.loads
            self.touched.anything |= statement.free

    def _is_space(self, node: ast.AST | None) -> bool:
        """Whether this gives the notebook's names, as a dictionary."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name, args = node.func.id, node.args
            own = name == "globals" or (name in ("vars", "locals") and not self.depth)
            return (own and not args) or (name == "vars" and bool(args) and _is_module(args[0]))
        if isinstance(node, ast.Attribute):
            named = node.attr == "__dict__" and _is_module(node.value)
            return named or node.attr in _SPACE_ATTRIBUTES
        return False


def _is_module(node: ast.AST | None) -> bool:
    """Whether this is the notebook's own module."""
    if isinstance(node, ast.Subscript):
        value = node.value
        of_sys = isinstance(value, ast.Attribute) and value.attr == "modules"
        return (of_sys or (isinstance(value, ast.Name) and value.id == "modules")) and _is_own(
            node.slice
        )
    if isinstance(node, ast.Call):
        called: Any = node.func
        name = getattr(called, "attr", getattr(called, "id", ""))
        return name in ("import_module", "__import__") and bool(node.args) and _is_own(node.args[0])
    return isinstance(node, ast.Name) and node.id == "__main__"


def _is_own(node: ast.AST) -> bool:
    name = isinstance(node, ast.Name) and node.id == "__name__"
    return name or (isinstance(node, ast.Constant) and node.value == "__main__")


def _is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
