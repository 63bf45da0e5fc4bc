"""The pages of a site, read for its tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bs4 import BeautifulSoup


@dataclass
class Page:
    """What a page holds. links: what it leads to or loads. images: of each its source and its alt,
    None where it has none. blocks: the texts of its <pre>, said: all of its text, comments too, and
    the values of its attributes."""

    ids: set[str]
    links: list[str]
    images: list[tuple[str, str | None]]
    headings: list[str]
    blocks: list[str]
    said: list[str]


def pages(site: Path) -> dict[str, Page]:
    """The pages of a site, by their paths in it."""
    return {
        path.relative_to(site).as_posix(): read(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }


def read(text: str) -> Page:
    """A page from its HTML."""
    soup = BeautifulSoup(text, "html.parser", multi_valued_attributes=None)
    tags = soup.find_all(True)
    return Page(
        ids={tag["id"] for tag in tags if tag.get("id")},
        links=[tag[name] for tag in tags for name in ("href", "src") if tag.has_attr(name)],
        images=[(tag.get("src", ""), tag.get("alt")) for tag in soup.find_all("img")],
        headings=[tag.get_text() for tag in soup.find_all("h1")],
        blocks=[tag.get_text() for tag in soup.find_all("pre")],
        said=[*(v for tag in tags for v in tag.attrs.values() if v), *soup.find_all(string=True)],
    )


def texts(site: Path) -> Iterator[tuple[str, list[str]]]:
    """By file: every text that somebody could read, unescaped, and the search's index."""
    for name, page in pages(site).items():
        yield name, [*page.blocks, "".join(page.said), *(one for one in page.said if "\n" in one)]
    yield "searchindex.js", [(site / "searchindex.js").read_text(encoding="utf-8")]
