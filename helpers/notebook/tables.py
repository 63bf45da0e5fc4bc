"""Small tables under a cell: columns that line up, as text and as HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

_NUMBER = re.compile(r"[-+−≈ ]*[\d.,]+(e[-+]?\d+)?\s?[^\s\d]{0,4}|[–∞]")


class Table:
    """A table that shows itself as a cell's last expression.

    `table(["ranks", "messages"], [[2, 2], [4, 6]])`.

    head: the columns' names. rows: a value a column; numbers stand to the right. caption: one
    sentence over the table, where there is one. Raises ValueError for a row of another length.
    """

    def __init__(
        self, head: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = ""
    ) -> None:
        for row in rows:
            if len(row) != len(head):
                raise ValueError(f"A row has {len(row)} values, but there are {len(head)} columns.")
        self.head = [str(name) for name in head]
        self.rows = [[str(value) for value in row] for row in rows]
        self.caption = caption
        self._right = [
            bool(rows) and all(_numeric(row[column]) for row in rows) for column in range(len(head))
        ]

    def __repr__(self) -> str:
        columns = zip(self.head, *self.rows, strict=True)
        widths = [max(map(len, column)) for column in columns]
        lines = [self._line(self.head, widths), "  ".join("-" * width for width in widths)]
        lines += [self._line(row, widths) for row in self.rows]
        return "\n".join(([self.caption] if self.caption else []) + lines)

    def _line(self, row: Sequence[str], widths: Sequence[int]) -> str:
        cells = zip(row, widths, self._right, strict=True)
        line = "  ".join(c.rjust(w) if right else c.ljust(w) for c, w, right in cells)
        return line.rstrip()

    def _repr_html_(self) -> str:
        caption = ""
        if self.caption:
            style = "caption-side:top;text-align:left;padding:.2em 0;max-width:46em"
            caption = f'<caption style="{style}">{html.escape(self.caption)}</caption>'
        head = self._html_row("th", self.head, ' scope="col"')
        body = "".join(self._html_row("td", row) for row in self.rows)
        return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"

    def _html_row(self, tag: str, row: Sequence[str], extra: str = "") -> str:
        cells = []
        for text, right in zip(row, self._right, strict=True):
            side = "right" if right else "left"
            style = f"text-align:{side};font-variant-numeric:tabular-nums"
            cells.append(f'<{tag}{extra} style="{style}">{html.escape(text)}</{tag}>')
        return f"<tr>{''.join(cells)}</tr>"


table = Table


def _numeric(value: Any) -> bool:
    """Whether a value is a number, perhaps with a short unit behind it."""
    return bool(_NUMBER.fullmatch(str(value)))
