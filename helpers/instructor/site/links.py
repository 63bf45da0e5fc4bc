"""Links in a text: those to files that are not on the site become words."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import PurePosixPath

_FENCED = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(<?([^)#\s>]*)(#[^)]*)?\)")


def mended(text: str, at: str, held: Collection[str]) -> str:
    """A text in which each link leads to the web, to a heading, or to what is held.

    at: the text's own path from the course's folder, `held` likewise. Where a link's words name
    the file, they become code: `[constraints.txt](constraints.txt)` is `constraints.txt`.
    """
    folder = PurePosixPath(at).parent

    def instead(found: re.Match[str]) -> str:
        words, target = found[1], found[2]
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        path = os.path.normpath(folder / target)
        if path in held:
            return found[0]
        return f"`{words}`" if path.endswith(words) else words

    parts = _FENCED.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(instead, part) for part in parts)
