"""Build the site: gather its sources in a folder, run Sphinx on them, put the pages in place."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from pathlib import Path

from helpers.instructor.build import ROOT, notebooks
from helpers.instructor.build_notebook import read, text
from helpers.instructor.site import contents
from helpers.instructor.site.exercises_page import exercises_page
from helpers.instructor.site.lesson_page import page
from helpers.instructor.site.links import mended
from helpers.instructor.site.settings import settings
from helpers.instructor.site.start import parts, start

MARK = ".course-site"  # in a folder that this made, and that it may replace
CSS = Path(__file__).with_name("site.css")


def build_site(out: Path, root: Path = ROOT) -> int:
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
        pages = write_sources(sources, root)
        run_sphinx(sources, made, parts((root / "README.md").read_text("utf-8")).title)
        (made / MARK).touch()
        old = Path(work, "old")
        if out.exists():
            os.replace(out, old)
        os.replace(made, out)
    return pages


def write_sources(folder: Path, root: Path) -> int:
    """Write what Sphinx reads, laid out as the course's folder is; returns the number of pages."""
    listed, held = contents.sections(root), contents.held(root)
    readme = parts((root / "README.md").read_text(encoding="utf-8"))
    lessons = notebooks(root / "lessons")
    texts = {
        contents.START: start(readme, listed),
        contents.EXERCISES: exercises_page(lessons),
    }
    for name in (name for names in listed.values() for name in names):
        if name.endswith(".md") and name not in texts:
            texts[name] = (root / name).read_text(encoding="utf-8")
    for name, written in texts.items():
        _write(folder / name, mended(written, name, held))
    for path in lessons:
        _write(folder / "lessons" / path.name, _lesson(path, root, held))
    for name in held - texts.keys():
        if not name.startswith("lessons/"):
            _copy(root / name, folder / name)
    _copy(CSS, folder / "_static" / CSS.name)
    return len(texts) + len(lessons)


def _lesson(path: Path, root: Path, held: set[str]) -> str:
    try:
        made = page(read(path), read(root / "solutions" / path.name))
    except ValueError as error:
        raise ValueError(f"lessons/{path.name}: {error}.") from error
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = mended(cell.source, f"lessons/{path.name}", held)
    return text(made)


def _write(path: Path, written: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(written, encoding="utf-8")


def _copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, to)


def run_sphinx(sources: Path, out: Path, title: str) -> None:
    """Make HTML of the sources. Raises ValueError with every warning, as none is harmless."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    said = io.StringIO()
    with patch_docutils(), docutils_namespace():
        app = Sphinx(
            srcdir=sources,
            confdir=None,
            outdir=out,
            doctreedir=out.with_name("doctrees"),
            buildername="html",
            confoverrides=settings(title, "the maintainers of the course"),
            status=None,
            warning=said,
            freshenv=True,
        )
        app.build()
    if said.getvalue():
        raise ValueError(f"Sphinx warns:\n{said.getvalue()}")
    for name in (".buildinfo", "objects.inv"):  # for builders and other projects
        (out / name).unlink(missing_ok=True)
    (out / "_sources").rmdir()  # empty: no source is copied
