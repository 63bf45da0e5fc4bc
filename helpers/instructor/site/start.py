"""The start page, from README.md's own words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

# What the start page does not take of README's sections: its sidebar is that.
LEFT_OUT = "Where to go on"
_ROW = re.compile(r"\| \[(\d\d) ([^\]]+)\]\(([^)]+)\) \| (.+) \| (.+) \|")


class Readme(NamedTuple):
    """README.md in parts. opening: paragraphs before the table of the lessons; lessons: its rows,
    (number, title, link, what is built, beside which peers); after: the paragraphs behind it;
    needs: those from "You need" on."""

    title: str
    opening: list[str]
    lessons: list[tuple[str, str, str, str, str]]
    after: list[str]
    needs: list[str]
    sections: Mapping[str, str]


def parts(text: str) -> Readme:
    """Take README.md apart. Raises ValueError with a sentence where it has not the parts."""
    intro, *rest = re.split(r"^## ", text, flags=re.MULTILINE)
    sections = {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in rest}
    title, *blocks = [block for block in intro.strip().split("\n\n") if block]
    tables = [at for at, block in enumerate(blocks) if block.startswith("| lesson |")]
    if not title.startswith("# ") or len(tables) != 1:
        raise ValueError("README.md begins with no title and one table of the lessons.")
    behind = blocks[tables[0] + 1 :]
    need = next((at for at, block in enumerate(behind) if block.startswith("You need")), None)
    if need is None:
        raise ValueError('README.md says nowhere behind its table what "You need" to have.')
    rows = [found.groups() for found in map(_ROW.match, blocks[tables[0]].splitlines()) if found]
    lessons = [(row[0], row[1], row[2], row[3], row[4]) for row in rows]
    opening = blocks[: tables[0]]
    title = title.removeprefix("# ")
    return Readme(title, opening, lessons, behind[:need], behind[need:], sections)


def start(readme: Readme, contents: Mapping[str, list[str]]) -> str:
    """The start page, with the site's contents in its sidebar."""
    first = readme.lessons[0]
    buttons = (
        f"[Look into lesson {first[0]}]({first[2]}){{.go}} "
        "[How to start](#what-you-need){.go} "
        "[For instructors](docs/instructors.md){.go}"
    )
    blocks = [
        f"# {readme.title}",
        *(block for block in readme.opening if not block.startswith("<img")),
        buttons,
        *(block for block in readme.opening if block.startswith("<img")),
        "## The lessons",
        "::::{container} lesson-cards",
        *(_card(*row) for row in readme.lessons),
        "::::",
        *readme.after,
        *(f"## {name}\n\n{words}" for name, words in readme.sections.items() if name != LEFT_OUT),
        "## What you need",
        *readme.needs,
        *(_toctree(caption, names) for caption, names in contents.items()),
    ]
    return "\n\n".join(blocks) + "\n"


def _card(number: str, title: str, link: str, builds: str, beside: str) -> str:
    peers = "" if beside.strip() == "–" else f"\n\n[beside {beside}]{{.beside}}"
    return f":::{{container}} lesson-card\n[{number} {title}]({link})\n\n{builds}{peers}\n:::"


def _toctree(caption: str, names: list[str]) -> str:
    listed = "\n".join(name.rpartition(".")[0] for name in names)
    return f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```"
