"""In a learner's copy of the course: cells that build on an open exercise show recorded outputs.

Such a copy (`./course release`) has no version of its own of what its exercises ask for. A
demonstration runs once the exercises that it builds on pass their checks; until then it shows what
it showed on another machine, and says so.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from helpers.notebook.failed_cells import shell_here
from helpers.rooms import HERE

RECORDED = "recorded.json"
shown: list[str] = []
"""The cells, by their names in the table, that have shown recorded outputs in this session."""


def digest(source: str) -> str:
    """A cell's name in the table: its text without blank lines and spaces at the ends of lines."""
    lines = (line.rstrip() for line in source.splitlines())
    return hashlib.sha256("\n".join(line for line in lines if line).encode()).hexdigest()[:16]


@cache
def table() -> dict[str, dict[str, Any]]:
    """For each such cell: `needs`, exercises and their functions; `names`, those that the cell
    gives to answers, each with its exercise; `outputs`, as a notebook keeps them."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(HERE.glob(f"*/{RECORDED}")):
        found |= json.loads(path.read_text(encoding="utf-8"))
    return found


def install() -> None:
    """Look at every cell before it runs; does nothing outside a notebook."""
    shell = shell_here()
    before: list[Any] = shell.input_transformers_cleanup if shell is not None else []
    if shell is None or any(getattr(one, "recorded", False) for one in before):
        return

    def transform(lines: list[str]) -> list[str]:
        return instead(lines, shell.user_ns)

    transform.recorded = True  # type: ignore[attr-defined]
    before.append(transform)


def instead(lines: list[str], names: dict[str, Any]) -> list[str]:
    """A cell's lines, or one that shows its recorded outputs. names: the notebook's own."""
    key = digest("".join(lines))
    entry = table().get(key)
    if entry is None or not open_ones(entry["needs"], names):
        return lines
    return [f"import helpers.notebook.recorded; helpers.notebook.recorded.show({key!r})\n"]


def open_ones(needs: Sequence[Sequence[str]], names: dict[str, Any]) -> list[str]:
    """The exercises among these whose functions are not there or do not pass their checks."""
    from helpers.checks.check import known_status

    found = [(number, names.get(function)) for number, function in needs]
    return [number for number, mine in found if not mine or known_status(number, mine) != "passed"]


def show(key: str) -> None:
    """Show the recorded outputs of a cell, under a line that says what they are."""
    from IPython import get_ipython
    from IPython.display import display

    from helpers.notebook.predict import again

    entry = table()[key]
    shown.append(key)
    names = get_ipython().user_ns
    still_open = open_ones(entry["needs"], names)
    names |= given(entry, still_open, names)
    said = reason(still_open)
    words = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(said))
    page = f'<p style="border-left:.35em solid #7F7F7F;padding:.3em .9em">{words}</p>'
    display({"text/plain": said, "text/html": page}, raw=True)
    for output in entry["outputs"]:
        if output["output_type"] == "stream":
            print(output["text"], end="")
        elif comparison := again(output["data"].get("text/html", "")):
            display(comparison)
        else:
            display(output["data"], metadata=output.get("metadata"), raw=True)


def given(
    entry: dict[str, Any], still_open: Sequence[str], names: dict[str, Any]
) -> dict[str, Any]:
    """What the names are that a cell which does not run gives to answers, for those who use them.

    A passed answer is there under such a name as if the cell had run; an open one says so when it
    is called.
    """
    from helpers.checks.released import waiting

    functions = {number: function for number, function in entry["needs"]}
    return {
        name: waiting(number, functions[number], name)
        if number in still_open
        else names[functions[number]]
        for name, number in entry["names"].items()
    }


def reason(still_open: Sequence[str]) -> str:
    """Why a cell does not run, in words."""
    from helpers.checks.compare import listing

    many = len(still_open) > 1
    which = f"{'s' if many else ''} {listing(still_open)} {'are' if many else 'is'}"
    return (
        f"Exercise{which} open. This is what the cell showed on another machine, with the course's "
        f"own version. Once {'they pass' if many else 'it passes'}, it runs."
    )
