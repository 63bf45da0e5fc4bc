"""Of some Python modules, only what is needed: how a release leaves the answers out.

A definition stays where something that stays names it. Everything else goes, so nothing has to be
listed as an answer but the answers themselves.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from helpers.course.setup.places import ROOT

Name = tuple[str, str]  # a module and a name in it


@dataclass
class Module:
    """A module's text, by its top-level statements.

    defines: for each name, the statement that makes it. places: for each imported name, where it
    comes from: (module, name), with an empty name where it is the module itself.
    """

    name: str
    text: str
    body: list[ast.stmt] = field(default_factory=list)
    defines: dict[str, int] = field(default_factory=dict)
    places: dict[str, Name] = field(default_factory=dict)
    _named: dict[tuple[int, bool], set[Name]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.body = ast.parse(self.text).body
        for at, statement in enumerate(self.body):
            for name in made(statement):
                self.defines[name] = at
            self.places |= imported(statement)

    def named(self, at: int, defaults: bool = True) -> set[Name]:
        """What a statement names: (this module, name), or (another module, attribute).

        defaults: count what parameters are without an argument, which a caller can do without.
        """
        if (at, defaults) not in self._named:
            self._named[at, defaults] = self._names(self.body[at], defaults)
        return self._named[at, defaults]

    def _names(self, statement: ast.stmt, defaults: bool) -> set[Name]:
        lines = self.text.splitlines()
        source = "\n".join(lines[start(lines, statement) : statement.end_lineno])
        if not defaults:
            (statement,) = ast.parse(source).body
            for node in ast.walk(statement):
                if isinstance(node, ast.arguments):
                    node.defaults = [ast.Constant(None) for _ in node.defaults]
                    node.kw_defaults = [one and ast.Constant(None) for one in node.kw_defaults]
            source = ast.unparse(statement)
        _, taken = scope(source)
        inner = [node for node in ast.walk(statement) if node is not statement]
        places = self.places | {k: v for node in inner for k, v in imported(node).items()}
        found = {(self.name, name) for name in taken}
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                module, name = places.get(node.value.id, ("", ""))
                if module:
                    found.add((f"{module}.{name}" if name else module, node.attr))
        found |= {v for node in inner for v in imported(node).values()}
        return found


def scope(source: str) -> tuple[set[str], set[str]]:
    """The names that a piece of code makes at its top level, and those that it takes from outside.

    Arguments and local variables are neither.
    """
    top = symtable.symtable(source, "piece", "exec")
    makes = {
        s.get_name()
        for s in top.get_symbols()
        if s.is_assigned() or s.is_imported() or s.is_namespace()
    }
    uses = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    waiting = list(top.get_children())
    while waiting:
        inner = waiting.pop()
        uses |= {s.get_name() for s in inner.get_symbols() if s.is_global()}
        waiting += inner.get_children()
    return makes, uses - makes


def imported(node: ast.AST) -> dict[str, Name]:
    """What an import makes: the local name, and where it comes from."""
    if isinstance(node, ast.ImportFrom) and node.module:
        return {a.asname or a.name: (node.module, a.name) for a in node.names}
    if isinstance(node, ast.Import):
        return {a.asname: (a.name, "") for a in node.names if a.asname}
    return {}


def made(statement: ast.stmt) -> Iterator[str]:
    """The names that a top-level statement makes."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names:
            yield alias.asname or alias.name.split(".")[0]
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield from made(node)


def sources(folder: Path, package: str) -> dict[str, str]:
    """The text of each module in a folder and those inside it, by its dotted name."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        inner = path.relative_to(folder).with_suffix("").parts
        found[".".join((package, *inner)).removesuffix(".__init__")] = path.read_text("utf-8")
    return found


def file_of(module: str) -> str:
    """Where a module of the course lies, from the course's folder, by its dotted name."""
    place = module.replace(".", "/")
    return f"{place}/__init__.py" if (ROOT / place).is_dir() else f"{place}.py"


@lru_cache(maxsize=1000)
def module_of(name: str, text: str) -> Module:
    """A module; the releases of all lessons are cut from the same ones."""
    return Module(name, text)


class Modules:
    """Modules that are cut together. texts: the source of each, by its dotted name."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.modules = {name: module_of(name, text) for name, text in texts.items()}
        self._uses: dict[tuple[Name, bool], set[Name]] = {}  # what was asked for: it takes a while

    def home(self, name: Name) -> Name | None:
        """The definition that a name stands for, through imports; None for what is elsewhere."""
        module = self.modules.get(name[0])
        if module is None or name[1] not in module.defines:
            return None
        place = module.places.get(name[1])
        if place is None:
            return name
        if ".".join(place).rstrip(".") in self.modules:
            return None  # a whole module, not a definition
        return self.home(place)

    def uses(self, name: Name, defaults: bool = False) -> set[Name]:
        """The definitions that a definition names, in any of the modules.

        defaults: also those that it only takes where no argument is given for a parameter.
        """
        if (name, defaults) not in self._uses:
            module = self.modules[name[0]]
            named = module.named(module.defines[name[1]], defaults)
            found = {self.home(other) for other in named} - {None, name}
            self._uses[name, defaults] = {other for other in found if other is not None}
        return self._uses[name, defaults]

    def reached(self, roots: Iterable[Name], withheld: Collection[Name] = ()) -> set[Name]:
        """All definitions that these need, themselves among them.

        withheld: may be missing where it is only what a parameter is without an argument.
        """

        def beyond(name: Name) -> set[Name]:
            return self.uses(name) | (self.uses(name, defaults=True) - set(withheld))

        return closure((h for root in roots if (h := self.home(root)) is not None), beyond)

    def missed(self, kept: Iterable[Name]) -> set[Name]:
        """What these name as what a parameter is without an argument, and do without."""
        kept = set(kept)
        return set().union(*(self.uses(name, defaults=True) for name in kept)) - kept

    def needing(self, names: set[Name]) -> set[Name]:
        """These definitions, and all that cannot work without one of them."""
        everything = [(m.name, name) for m in self.modules.values() for name in m.defines]
        users: dict[Name, set[Name]] = {name: set() for name in everything}
        for name in everything:
            if self.home(name) == name:
                for used in self.uses(name):
                    users[used].add(name)
        return closure(names, users.__getitem__)

    def cut(self, name: str, kept: set[Name], stubs: Mapping[Name, str] | None = None) -> str:
        """A module's text with the definitions in `kept`, and the imports that these name.

        stubs: definitions that stand for others, each by the name that it takes; they come behind
        the imports.
        """
        module, stubs = self.modules[name], stubs or {}
        mine = [text for (where, _), text in sorted(stubs.items()) if where == name]
        stays = {module.defines[one] for where, one in kept if where == name}
        wanted = {other for at in stays for where, other in module.named(at) if where == name}
        lines, text, blank = module.text.splitlines(), "", 0
        before = -2  # the last statement that stayed
        for at, statement in enumerate(module.body):
            first = start(lines, statement)
            above = next((n for n in range(first) if lines[first - 1 - n]), first)
            blank = max(blank, above)  # as many as stood before it, or before what went
            imports = isinstance(statement, ast.Import | ast.ImportFrom)
            own = "\n".join(lines[first : statement.end_lineno])
            if always(statement, at):
                pass
            elif imports:
                own = self._import(module, statement, wanted, kept | stubs.keys())
            elif not (
                at in stays
                or (_is_text(statement) and before == at - 1 and before in stays)
                or (isinstance(statement, ast.If) and wanted & set(made(statement)))
            ):
                own = ""
            if own and mine and not (imports or always(statement, at)):
                text, mine = text + "\n".join(["", *mine, ""]), []
            if own:
                text, blank, before = text + "\n" * blank + own + "\n", 0, at
        return text + "\n".join(["", *mine, ""] if mine else [])

    def _import(
        self, module: Module, statement: ast.stmt, wanted: set[str], kept: set[Name]
    ) -> str:
        """An import of what is still wanted and still there."""
        assert isinstance(statement, ast.Import | ast.ImportFrom)
        names = []
        for alias in statement.names:
            local = alias.asname or alias.name.split(".")[0]
            home = self.home((module.name, local))
            if local in wanted and (home is None or home in kept):
                names.append(alias)
        if not names:
            return ""
        if isinstance(statement, ast.Import):
            return ast.unparse(ast.Import(names))
        return ast.unparse(ast.ImportFrom(statement.module, names, statement.level))


def closure(start: Iterable[Name], beyond: Callable[[Name], Iterable[Name]]) -> set[Name]:
    """These names, and all that lie beyond them, step by step."""
    waiting, seen = list(start), set[Name]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += beyond(name)
    return seen


def always(statement: ast.stmt, at: int) -> bool:
    """The module's docstring and its `from __future__` lines."""
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return True
    return at == 0 and _is_text(statement)


def _is_text(statement: ast.stmt) -> bool:
    value = getattr(statement, "value", None)
    return isinstance(statement, ast.Expr) and isinstance(value, ast.Constant)


def start(lines: Sequence[str], statement: ast.stmt) -> int:
    """A statement's first line, from 0, with its decorators and the comment right above it."""
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(one.lineno for one in decorators)]) - 1
    while first and lines[first - 1].startswith("#"):
        first -= 1
    return first
