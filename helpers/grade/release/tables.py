"""An exercise's wrong answers without what they do: the names and what they are told stay."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from importlib import import_module

from helpers.checks.table import Entry, entries
from helpers.grade.prune import Module

_IN = "    "


def without_functions(module: Module, wrong: ast.expr) -> str:
    """A spec's call of `wrong_answers`, with a table in which nobody says what an answer does.

    Only those stay that are their own oracle: families need no answers.
    """
    assert isinstance(wrong, ast.Call)
    number, table, _, *named = wrong.args
    held = entries(ast.literal_eval(number), _text(module, table))
    kept = [entry for entry in held if not entry.marked["?"]]
    looks = {look for one in kept for look, _ in one.marked["!"]}
    functions = [ast.unparse(one) for one in named if getattr(one, "id", "") in looks]
    texts = [ast.unparse(word) for word in wrong.keywords if word.arg in (None, *looks)]
    text = "\n".join(line for one in kept for line in _lines(one))
    arguments = [
        ast.unparse(number),
        f'"""\n{text}\n"""' if '"""' not in text and "\\" not in text else repr(text),
        'left_out("wrong answer")',
        *functions,
        *texts,
    ]
    return f"wrong_answers({', '.join(arguments)})"


def _text(module: Module, table: ast.expr) -> str:
    """A table that stands there or has a name, of the module's or of another's; or several, added
    up."""
    if isinstance(table, ast.BinOp):
        return _text(module, table.left) + _text(module, table.right)
    if isinstance(table, ast.Name) and table.id in module.places:
        home, name = module.places[table.id]
        return str(getattr(import_module(home), name))
    if isinstance(table, ast.Name):
        table = getattr(module.body[module.defines[table.id]], "value", table)
    return str(ast.literal_eval(table))


def _lines(entry: Entry) -> Iterator[str]:
    yield entry.name
    yield from (f"{_IN}! {look}" for look, _ in entry.marked["!"])
    # What goes on further in is no mark's, whatever it begins with.
    yield from textwrap.wrap(
        entry.sentence,
        96,
        initial_indent=_IN,
        subsequent_indent=2 * _IN,
        break_on_hyphens=False,
        break_long_words=False,
    )
