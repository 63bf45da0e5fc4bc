"""Figures that papers and books print, to set beside what you measure, each with its source.

The file is `published.json`. An entry holds:
title: what is shown. source: where. origin: "printed" in the source, or "read off" a figure of it
(about ±1 % of the axis). units: of each series. data: the series. note: what to beware of.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

_FILE = Path(__file__).with_name("published.json")


class Published(NamedTuple):
    """One published table or figure."""

    name: str
    title: str
    source: str
    origin: str
    units: str
    data: dict[str, Any]
    note: str = ""

    @property
    def label(self) -> str:
        """What to write beside it in a figure: the source, and how the values were taken."""
        return f"{self.source} ({self.origin})"


@lru_cache(maxsize=1)
def _entries() -> dict[str, dict[str, Any]]:
    return json.loads(_FILE.read_text(encoding="utf-8"))


def names() -> list[str]:
    """The names of all entries."""
    return sorted(_entries())


def load(name: str) -> Published:
    """One entry. Raises KeyError, with the names that there are, for any other."""
    entries = _entries()
    if name not in entries:
        raise KeyError(f"Nothing published is called {name!r}. There is: {', '.join(names())}.")
    return Published(name, **json.loads(json.dumps(entries[name])))
