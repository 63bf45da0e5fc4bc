"""The site as it is built: whole, with links that lead somewhere, and without an answer."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from leaks import ROOT, bare, leaks, solution_regions

from helpers.checks import everything, lessons
from helpers.course.build.check import MARKS
from helpers.course.build.run import notebooks
from helpers.course.site import build_site
from helpers.course.site.build import FILES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
    # The theme and the parser of Markdown go by names that Sphinx will drop in version 11.
    pytest.mark.filterwarnings("ignore:.*Check CHANGES for Sphinx API modifications"),
]
SOLUTIONS = notebooks(ROOT / "solutions")
# What may be in a site besides pages and what the theme brings (_static).
SUFFIXES = {".html", ".js", ".png", ".svg", "", ".cff"}


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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site. It is built without a warning: the least one is raised."""
    folder = tmp_path_factory.mktemp("built") / "site"
    build_site(folder)
    return folder


@pytest.fixture(scope="module")
def made(site: Path) -> dict[str, Page]:
    return pages(site)


# --- what is there --------------------------------------------------------------------------------


def test_each_text_and_each_lesson_has_its_page(made: dict[str, Page]) -> None:
    texts = [*(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md", *SOLUTIONS]
    wanted = {f"{p.parent.name}/" * (p.parent != ROOT) + f"{p.stem}.html" for p in texts}
    wanted = {name.replace("solutions/", "lessons/") for name in wanted}
    assert made.keys() - wanted == {"index.html", "search.html", "exercises.html"}
    assert wanted <= made.keys()
    assert {name for name in wanted if "lessons/" in name} <= set(made["index.html"].links)


def test_the_exercises_are_listed_with_links(made: dict[str, Page]) -> None:
    to_exercises = [link for link in made["exercises.html"].links if "#exercise-" in link]
    assert len(set(to_exercises)) >= len(everything())


def test_what_unfolds_in_a_lesson_unfolds_on_its_page(site: Path) -> None:
    for path in notebooks(ROOT / "lessons"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        written = "".join("".join(cell["source"]) for cell in cells)
        shown = (site / "lessons" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert shown.count("<details><summary>") >= written.count("<details><summary>") > 0


# --- links and pictures ---------------------------------------------------------------------------


def test_each_link_within_leads_to_a_page_and_an_anchor(site: Path, made: dict[str, Page]) -> None:
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    seen = 0
    for name, page in made.items():
        for split in map(urlsplit, page.links):
            if split.scheme or split.netloc:
                continue
            target = os.path.normpath(PurePosixPath(name).parent / unquote(split.path))
            target = target if split.path else name
            assert target in files, (name, split)
            assert not split.fragment or unquote(split.fragment) in made[target].ids, (name, split)
            seen += 1
    assert seen > 1000


def test_links_to_the_web_are_https_and_nothing_is_loaded_from_it(
    site: Path, made: dict[str, Page]
) -> None:
    outside = {link for page in made.values() for link in page.links if urlsplit(link).scheme}
    for link in outside:
        split = urlsplit(link)
        assert split.scheme == "https" and "." in split.netloc and " " not in link, link
    loads = re.compile(r"<(?:script|img|link|iframe)\b[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*")
    for path in site.rglob("*.html"):
        assert loads.findall(path.read_text(encoding="utf-8")) == [], path


def test_each_picture_is_there_and_says_what_it_shows(site: Path, made: dict[str, Page]) -> None:
    seen = 0
    for name, page in made.items():
        for source, alt in page.images:
            assert alt and alt.strip() and not alt.endswith(".png"), f"{name}: {source}"
            assert (site / PurePosixPath(name).parent / unquote(source)).resolve().is_file()
            seen += 1
    assert seen > 100


def test_formulas_need_no_script(site: Path) -> None:
    text = (site / "lessons/06_asynchronous_updates.html").read_text(encoding="utf-8")
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in text
    assert "mathjax" not in text.lower() and "$" not in "".join(read(text).headings)


# --- no answer ------------------------------------------------------------------------------------


def test_it_holds_pages_and_pictures_alone(site: Path) -> None:
    files = [p for p in site.rglob("*") if p.is_file() and "_static" not in p.parts]
    assert {path.suffix for path in files if path.name != ".course-site"} <= SUFFIXES
    downloads = {path.name for path in files if path.suffix in ("", ".cff")}
    assert downloads == {*FILES, ".course-site"}


def test_exercises_are_open_in_it(made: dict[str, Page]) -> None:
    for exercise in everything():
        (page,) = (made[n] for n in made if n.startswith(f"lessons/{exercise.lesson}_"))
        stub = f'raise NotImplementedError("Exercise {exercise.number} is not done yet")'
        assert any(stub in block for block in page.blocks), exercise.number
        # Its check says nothing: what it says of a right answer may tell how that came about.
        assert not any(f"{exercise.number} ({exercise.title}): passed" in t for t in page.said)


def test_no_solution_is_in_it(site: Path) -> None:
    """What solutions have between their marks, and the marks; --all searches for all answers."""
    regions = {r: path.name for path in SOLUTIONS for r in solution_regions(path)}
    assert len(regions) > 80
    for name, found in texts(site):
        for text in found:
            assert not [mark for mark in MARKS if mark in text and name.startswith("lessons/")]
            plain = bare(text)
            assert not [f"{name}: {regions[r]}: {r[:60]}" for r in regions if r in plain]


def packed(found: dict[str, list[str]]) -> bytes:
    """Texts as a ZIP, which is what the releases' search looks through."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, said in found.items():
            archive.writestr(f"{name}.json", json.dumps(said))
    return held.getvalue()


@pytest.mark.thorough
def test_no_answer_is_in_it(site: Path) -> None:
    """The search that releases go through: references, wrong answers and hidden cases, of all
    lessons, whatever names they have."""
    found = dict(texts(site))
    assert leaks(packed(found), lessons()[0]) == []
    answer = SOLUTIONS[6].read_text(encoding="utf-8")
    sources = ["".join(cell["source"]) for cell in json.loads(answer)["cells"]]
    found["lessons/06_asynchronous_updates.html"] += sources
    assert leaks(packed(found), lessons()[0])
