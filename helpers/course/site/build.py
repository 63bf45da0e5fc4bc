"""Build the site: gather its sources in a folder, run Sphinx on them, put the pages in place."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from pathlib import Path

from helpers.course.build.notebook import read, text
from helpers.course.build.run import ROOT, notebooks
from helpers.course.site.pages import exercises_page, mended, page

MARK = ".course-site"  # in a folder that this made, and that it may replace
# The texts, by the captions that they stand under in the sidebar.
TEXTS = {
    "Lessons": ["lessons/*"],
    "Beside the lessons": [
        *("exercises", "docs/glossary", "docs/running", "docs/missing", "docs/benchmarks"),
    ],
    "For instructors": ["docs/instructors", "docs/hubs", "docs/sandbox"],
    "For maintainers": ["docs/maintainers", "CONTRIBUTING", "docs/tests"],
}
FILES = ("LICENSE", "LICENSE-text", "CITATION.cff")  # to download


def build_site(out: Path) -> int:
    """Make the site in the folder `out`; returns the number of its pages.

    A site that was there is replaced once the new one is whole. Raises ValueError with a sentence
    where the folder holds something else, where a page cannot be made, and with Sphinx's own words
    where it has something to say.
    """
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).exists():
        raise ValueError(f"{out} holds something that is no site: name another folder with --out.")
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file: name a folder with --out.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".site-", dir=out.parent) as work:
        sources, made = Path(work, "sources"), Path(work, "made")
        pages = write_sources(sources)
        run_sphinx(sources, made)
        (made / MARK).touch()
        if out.exists():
            os.replace(out, Path(work, "old"))
        os.replace(made, out)
    return pages


def write_sources(folder: Path) -> int:
    """Write what Sphinx reads, laid out as the course's folder is; returns the number of pages."""
    lessons = notebooks(ROOT / "lessons")
    named = [ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in named}
    texts["index.md"] = (ROOT / "README.md").read_text("utf-8") + "".join(map(_toctree, TEXTS))
    texts["exercises.md"] = exercises_page(lessons)
    files = [*FILES, *(f"docs/{p.name}" for p in (ROOT / "docs").iterdir() if p.suffix != ".md")]
    held = {*texts, *files, *(f"lessons/{path.name}" for path in lessons)}
    for part in ("docs", "lessons"):
        (folder / part).mkdir(parents=True)
    for name in files:
        shutil.copyfile(ROOT / name, folder / name)
    for name, written in texts.items():
        (folder / name).write_text(mended(written, name, held), encoding="utf-8")
    for path in lessons:
        try:
            made = page(read(path), read(ROOT / "solutions" / path.name))
        except ValueError as error:
            raise ValueError(f"lessons/{path.name}: {error}.") from error
        for cell in made.cells:
            if cell.cell_type == "markdown":
                cell.source = mended(cell.source, f"lessons/{path.name}", held)
        (folder / "lessons" / path.name).write_text(text(made), encoding="utf-8")
    return len(texts) + len(lessons)


def _toctree(caption: str) -> str:
    listed = "\n".join(TEXTS[caption])
    return f"\n\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{listed}\n```\n"


def run_sphinx(sources: Path, out: Path) -> None:
    """Make HTML of the sources. Raises ValueError with every warning, as none is harmless."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    said = io.StringIO()
    with patch_docutils(), docutils_namespace():
        Sphinx(
            srcdir=sources,
            confdir=Path(__file__).parent,
            outdir=out,
            doctreedir=out.with_name("doctrees"),
            buildername="html",
            status=None,
            warning=said,
            freshenv=True,
        ).build()
    if said.getvalue():
        raise ValueError(f"Sphinx warns:\n{said.getvalue()}")
    for name in (".buildinfo", "objects.inv"):  # for builders and other projects
        (out / name).unlink(missing_ok=True)
    (out / "_sources").rmdir()  # empty: no source is copied
