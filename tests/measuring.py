"""Which functions of the course measure time, and which cells of a notebook show what they did.

Read from the code alone. A function measures if it asks a clock, or reads the seconds or the trace
of a run that is not on the virtual clock, or has a function that asks its rank's clock run there,
or trains there, or calls a function that measures. In a notebook, what is computed from something
measured is measured, too.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Collection, Iterator, Sequence
from functools import cache

from helpers.rooms import names_in
from helpers.setup.places import ROOT

CLOCKS = {f"time.{name}" for name in ("time", "perf_counter", "monotonic", "process_time")}
READ = {"seconds", "trace", "stats"}  # of what a run returns
FOLDERS = ("notebook", "lessons/*/experiments", "lessons/*/figures")  # algorithms have no clock
# Functions that ask a clock, or run what does, and whose results have nothing of it.
NOT_MEASURED = {
    "helpers.lessons.bandwidth.experiments.host_steps.source": "whether there are virtual hosts",
}


class Names(dict[str, str]):
    """What names of a module or a notebook stand for: dotted names."""

    def take(self, tree: ast.AST) -> None:
        """Those that imports in a piece of code make, in its functions too."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    self[name] = alias.name if alias.asname else name
            elif isinstance(node, ast.ImportFrom):
                handed = names_in(str(node.module))
                for alias in node.names:
                    home = handed.get(alias.name, (node.module, alias.name))
                    self[alias.asname or alias.name] = ".".join(filter(None, home))

    def dotted(self, node: ast.AST) -> str:
        """What `a` or `a.b.c` stands for, "" where that is not known."""
        if isinstance(node, ast.Name):
            return self.get(node.id, "")
        if isinstance(node, ast.Attribute):
            inner = self.dotted(node.value)
            return f"{inner}.{node.attr}" if inner else ""
        return ""

    def used(self, tree: ast.AST) -> set[str]:
        """All that a piece of code names."""
        return {self.dotted(node) for node in ast.walk(tree)}

    def is_real(self, node: ast.AST, clocks: Collection[str] = ()) -> bool:
        """Whether it is a run or a training on an engine that takes time.

        clocks: names of options that stand for the virtual clock.
        """
        call = self.dotted(node.func) if isinstance(node, ast.Call) else ""
        if not isinstance(node, ast.Call) or call not in ("helpers.run", "helpers.train"):
            return False
        engines = [k.value for k in node.keywords if k.arg == "engine"]
        if engines:
            return not is_virtual(engines[0])
        options = [ast.unparse(k.value) for k in node.keywords if k.arg is None]
        if any(name in clocks or "clock" in name for name in options):
            return False
        return call == "helpers.run"  # a training is on the virtual clock unless it is said


def is_virtual(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == "virtual"


def asks_ranks_clock(tree: ast.AST) -> bool:
    """Whether it has `comm.time()`, which is the virtual one on that engine."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call) and not node.args)
    return any(
        isinstance(called, ast.Attribute)
        and called.attr == "time"
        and ast.unparse(called.value).endswith("comm")
        for called in calls
    )


@cache
def measuring() -> frozenset[str]:
    """The functions and classes of `helpers` that measure, by their dotted names."""
    return _known()[0]


@cache
def timing() -> frozenset[str]:
    """Those that ask the clock of their rank, and measure where ranks are real."""
    return _known()[1]


@cache
def _known() -> tuple[frozenset[str], frozenset[str]]:
    uses, found, timed = dict[str, set[str]](), set[str](), set[str]()
    read = list[tuple[str, ast.AST, Names]]()
    for folder in (each for name in FOLDERS for each in (ROOT / "helpers").glob(name)):
        for path in sorted(folder.rglob("*.py")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            module = module.removesuffix(".__init__")
            tree = ast.parse(path.read_text(encoding="utf-8"))
            defined = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
            names = Names({node.name: f"{module}.{node.name}" for node in defined})
            names.take(tree)
            for name, home in names.items():  # what a package hands on
                uses[f"{module}.{name}"] = {home}
            for node in defined:
                uses[names[node.name]] = names.used(node)
                read.append((names[node.name], node, names))
                timed |= {names[node.name]} if asks_ranks_clock(node) else set()
    spread(timed, uses)
    found |= {name for name, node, names in read if measures(node, names, timed)}
    return frozenset(spread(found - NOT_MEASURED.keys(), uses)), frozenset(timed - found)


def spread(found: set[str], uses: dict[str, set[str]]) -> set[str]:
    """What uses one of these, or what uses that, is of them, too."""
    while more := {n for n, used in uses.items() if used & found} - found - NOT_MEASURED.keys():
        found |= more
    return found


def measures(tree: ast.AST, names: Names, timed: Collection[str]) -> bool:
    """Whether a function of `helpers` does by itself. timed: those that ask their rank's clock."""
    nodes = list(ast.walk(tree))
    if any(names.dotted(n.func) in CLOCKS for n in nodes if isinstance(n, ast.Call)):
        return True
    read = any(isinstance(n, ast.Attribute) and n.attr in READ for n in nodes)
    return any(names.is_real(n) and (read or names.used(n) & set(timed)) for n in nodes)


def measured_cells(sources: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(cell, names) where a cell of a notebook has to do with something measured, and with what."""
    reading = Reading()
    for number, source in enumerate(sources):
        tree = ast.parse(source)
        reading.names.take(tree)
        reading.seen.clear()
        reading.read(tree.body)
        if reading.seen:
            yield number, ", ".join(sorted(reading.seen))


class Reading:
    """A notebook's statements, read in turn.

    measured: its names that hold something measured; timed: functions that ask their rank's clock;
    real: names of runs that took time; clocks: options of the virtual clock. seen: why what was
    read since it was cleared has to do with time.
    """

    def __init__(self) -> None:
        self.names = Names()
        self.measured, self.timed, self.real = set[str](), set[str](), set[str]()
        self.clocks, self.seen = set[str](), set[str]()

    def read(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if isinstance(statement, ast.For):
                self.take(statement.iter, bound(statement.target))
            elif isinstance(statement, ast.If | ast.While):
                self.take(statement.test, set())
            elif isinstance(statement, ast.With):
                for item in statement.items:
                    self.take(item.context_expr, bound(item))
            elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
                self.take(statement, {statement.name})
                asks = asks_ranks_clock(statement) or self.names.used(statement) & timing()
                self.timed |= {statement.name} if asks else set()
            elif not is_check(statement):
                self.take(statement, bound(statement))
            if isinstance(statement, ast.For | ast.If | ast.While | ast.With):
                self.read([*statement.body, *getattr(statement, "orelse", ())])

    def take(self, node: ast.AST, names: set[str]) -> None:
        """Why it has to do with time is seen; then what it binds is measured, else not any more."""
        why = self.names.used(node) & measuring() | read_in(node) & self.measured
        runs = [n for n in ast.walk(node) if self.names.is_real(n, self.clocks)]
        asked = [n for n in runs if read_in(n) & self.timed or self.names.used(n) & timing()]
        trained = [n for n in runs if self.names.used(n) & {"helpers.train"}]
        why |= {"a real run"} if asked or trained else set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and self.names.dotted(inner.func) in CLOCKS:
                why.add("a clock")
            if isinstance(inner, ast.Attribute) and inner.attr in READ:
                value = inner.value
                if value in runs or (isinstance(value, ast.Name) and value.id in self.real):
                    why.add(f".{inner.attr} of a real run")
        self.seen |= why
        self._bind(node, names, bool(why), bool(runs))

    def _bind(self, node: ast.AST, names: set[str], measured: bool, real: bool) -> None:
        keys = {n.arg for n in ast.walk(node) if isinstance(n, ast.keyword)}
        keys |= {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
        virtual = "engine" in keys and any(is_virtual(n) for n in ast.walk(node))
        kinds = ((self.measured, measured), (self.real, real), (self.clocks, virtual))
        for held, holds in kinds:
            held -= names
            held |= names if holds else set()


def bound(node: ast.AST) -> set[str]:
    """The names that a statement binds; those of comprehensions are their own."""
    if isinstance(node, ast.comprehension | ast.Lambda):
        return set()
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Store) else set()
    return set().union(*map(bound, ast.iter_child_nodes(node)))


def read_in(node: ast.AST) -> set[str]:
    """The notebook's names that a piece of code reads, in its functions too."""
    outermost = symtable.symtable(ast.unparse(node), "cell", "exec")
    tables, found = [outermost], set[str]()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (table is outermost or symbol.is_global()):
                found.add(symbol.get_name())
    return found


def is_check(statement: ast.stmt) -> bool:
    """Whether it is `helpers.check(…)`, which says nothing of time, or its hidden tests."""
    call = getattr(statement, "value", None)
    return isinstance(call, ast.Call) and ast.unparse(call.func) in ("helpers.check", "require")
