"""The pages of a site, read for its tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path


@dataclass
class Page:
    """What a page holds. links: what it leads to or loads. images: of each its source and its alt,
    None where it has none. blocks: the texts of its <pre>, said: all of its text, and the values of
    its attributes."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    images: list[tuple[str, str | None]] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.within: str = ""  # the <pre> or <h1> that it is in

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.page.said += [value for value in given.values() if value]
        if name := given.get("id"):
            self.page.ids.add(name)
        if tag == "img":
            self.page.images.append((given.get("src") or "", given.get("alt")))
        for link in (given.get("href"), given.get("src")):
            if link is not None:
                self.page.links.append(link)
        if tag in ("pre", "h1"):
            self.within = tag
            (self.page.blocks if tag == "pre" else self.page.headings).append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self.within:
            self.within = ""

    def handle_data(self, data: str) -> None:
        self.page.said.append(data)
        if self.within == "pre":
            self.page.blocks[-1] += data
        elif self.within == "h1":
            self.page.headings[-1] += data

    def handle_comment(self, data: str) -> None:
        self.page.said.append(data)


def pages(site: Path) -> dict[str, Page]:
    """The pages of a site, by their paths in it."""
    return {
        path.relative_to(site).as_posix(): read(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }


def read(text: str) -> Page:
    """A page from its HTML."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.page


def texts(site: Path) -> Iterator[tuple[str, list[str]]]:
    """By file: every text that somebody could read, unescaped, and the search's index."""
    for name, page in pages(site).items():
        yield name, [*page.blocks, "".join(page.said), *(one for one in page.said if "\n" in one)]
    yield "searchindex.js", [(site / "searchindex.js").read_text(encoding="utf-8")]
