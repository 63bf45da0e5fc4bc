"""An exercise's wrong answers without what they do: the names and what they are told stay."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from helpers.exercises.table import Entry, entries
from helpers.instructor.prune import Module

_IN = "    "


def without_functions(module: Module, wrong: ast.expr) -> str:
    """A spec's call of `wrong_answers`, with a table in which nobody says what an answer does.

    Only those stay that are their own oracle: families need no answers.
    """
    assert isinstance(wrong, ast.Call)
    number, table, _, *named = wrong.args
    if isinstance(table, ast.Name):
        table = getattr(module.body[module.defines[table.id]], "value", table)
    held = entries(ast.literal_eval(number), ast.literal_eval(table))
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
