"""What processes note in a file while they work: it is known, too, when they have been killed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any


def note(path: str | Path, **told: Any) -> None:
    """Add a line to a file, with the time; a kill leaves a whole line or none."""
    line = json.dumps({**told, "at": time.time()}) + "\n"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


class Lines:
    """Follows a file that `note` writes."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._read, self._rest = 0, b""

    def look(self) -> list[dict[str, Any]]:
        """What is new since the last look."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        self._read += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]
