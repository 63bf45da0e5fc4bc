"""A logbook: predictions and runs in the order in which they came, in a file beside the notebook.

Each entry names the one before it by its digest, so that none can be changed, left out or put
before another without the rest being written anew. That shows a mistake and a quick fraud, no
thorough one: whoever writes the whole file anew is not caught by it.
"""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

MIME = "application/vnd.distributed-course.logbook+json"
BEGIN = "0" * 16
Entry = dict[str, Any]


def digest(entry: Mapping[str, Any]) -> str:
    """Of an entry without its own `digest`."""
    held = {key: value for key, value in entry.items() if key != "digest"}
    text = json.dumps(held, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Logbook:
    """Entries of a file, one a line, and new ones at its end.

    path: made at the first entry; None for a logbook in memory alone. `entries`: dictionaries with
    `number` from 1, `at` (UTC, to the second), `kind`, what the entry says, `before` and `digest`.
    Raises ValueError for a file that is no logbook.
    """

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self.entries: list[Entry] = []
        if self.path is not None and self.path.exists():
            lines = self.path.read_text(encoding="utf-8").splitlines()
            try:
                self.entries = [json.loads(line) for line in lines if line.strip()]
            except ValueError as error:
                raise ValueError(f"{self.path} is no logbook: {error}") from None
        why = broken(self.entries)
        if why:
            raise ValueError(
                f"{self.path} is damaged: {why} Put it aside under another name to begin anew."
            )

    def add(self, kind: str, **what: Any) -> Entry:
        """Write an entry at the end."""
        entry: Entry = {
            "number": len(self.entries) + 1,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "kind": kind,
            **what,
            "before": self.entries[-1]["digest"] if self.entries else BEGIN,
        }
        entry["digest"] = digest(entry)
        line = json.dumps(entry, ensure_ascii=False, allow_nan=False)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        self.entries.append(entry)
        return entry

    def of(self, kind: str, **what: Any) -> list[Entry]:
        """The entries of a kind that say just this, the first one first."""
        return [
            entry
            for entry in self.entries
            if entry["kind"] == kind and all(entry.get(k) == v for k, v in what.items())
        ]

    def __repr__(self) -> str:
        rows = [f"{kind} {len(self.of(kind))}" for kind in dict.fromkeys(self._kinds())]
        return f"Entries in the logbook: {', '.join(rows) or 'none yet'}."

    def _kinds(self) -> list[str]:
        return [str(entry["kind"]) for entry in self.entries]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {
            "text/plain": repr(self),
            "text/html": f"<p>{html.escape(repr(self))}</p>",
            MIME: {"entries": self.entries},
        }


def broken(entries: Sequence[Any]) -> str | None:
    """Why these are no entries as a logbook writes them, in a sentence; None where they are."""
    before, at = BEGIN, ""
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or not {"number", "at", "kind", "before", "digest"} <= set(
            entry
        ):
            return f"Entry {number} is none."
        if entry["number"] != number or entry["before"] != before:
            return f"Entry {number} does not follow the one before it."
        if digest(entry) != entry["digest"]:
            return f"Entry {number} was changed."
        if not isinstance(entry["at"], str) or entry["at"] < at:
            return f"Entry {number} is older than the one before it."
        before, at = entry["digest"], entry["at"]
    return None
