"""AGENTS.md of the checkout; that of each release is looked at with the rest of it."""

from __future__ import annotations

from assistants import not_there

from helpers.checks import find
from helpers.course import cli
from helpers.course.setup.places import ROOT

OURS = (ROOT / "AGENTS.md").read_text(encoding="utf-8")


def test_it_names_what_is_there_and_fits_on_a_page() -> None:
    folders = [ROOT, *(p for p in ROOT.iterdir() if p.is_dir() and p.name[0] != ".")]
    folders += [ROOT / "helpers" / name for name in ("lessons", "grade")]
    files = {p.relative_to(ROOT).as_posix() for folder in folders for p in folder.iterdir()}
    files |= {p.relative_to(ROOT).as_posix() for p in (ROOT / "helpers/grade").rglob("*.py")}
    assert not_there(OURS, files, {*cli.course.commands}) == []
    assert len(OURS.splitlines()) < 70
    assert f'helpers.check("02.1", {find("02.1").function})' in OURS


def test_what_is_not_there_is_found() -> None:
    text = "`docs/no.md`, `helpers.nothing`, `./course lab --no`, `./course build`, `helpers/`"
    found = not_there(text, {"helpers/course/cli.py"}, {"lab"})
    assert found == ["docs/no.md", "helpers.nothing", "./course lab --no", "./course build"]
