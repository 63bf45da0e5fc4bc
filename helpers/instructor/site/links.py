"""Links in a text: to what the site holds, by GitHub's anchors; other files become words."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import PurePosixPath

_FENCED = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)  # beside one, a picture's tag stays raw HTML
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]*)(#[^)]*)?\)")


def anchor(title: str) -> str:
    """A heading's anchor as GitHub and the site have it; of JupyterLab's, the same.

    JupyterLab keeps capital letters and punctuation, so links between notebooks have both.
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def mended(text: str, at: str, held: Collection[str]) -> str:
    """A text in which each link leads to the web, to a heading, or to what the site holds.

    at: the text's own path from the course's folder, `held` likewise. Where a link's words name
    the file, they become code: `[constraints.txt](constraints.txt)` is `constraints.txt`.
    HTML comments go.
    """
    folder = PurePosixPath(at).parent

    def instead(found: re.Match[str]) -> str:
        words, target, heading = found.groups()
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        path = os.path.normpath(folder / target)
        if not target or path in held:
            return f"[{words}]({target}{'#' + anchor(heading[1:]) if heading else ''})"
        return f"`{words}`" if path.endswith(words) else words

    parts = _FENCED.split(text)
    return "".join(
        part if part.startswith("```") else _LINK.sub(instead, _COMMENT.sub("", part))
        for part in parts
    )
