"""A learner's progress in a notebook: shown at the lesson's top, and kept from there alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel
from nbformat.v4 import new_code_cell, new_notebook

from helpers.course.build.new import TEMPLATE
from helpers.course.build.notebook import code_cells, execute, read
from helpers.course.build.run import notebooks
from helpers.notebook.record import SWITCH, Answer, load, note
from helpers.notebook.standing import Standing
from helpers.notebook.top import NOT_KEPT, _told, as_html, as_text
from helpers.rooms import Entry, index

ROOT = Path(__file__).parents[2]
RIGHT = "from helpers.checks import find\nright = find('02.4').reference\n"
CHECK = 'helpers.check("02.4", right)'
POINTS = {entry.number: entry.points for entry in index()["02"]}
MOST = sum(POINTS.values())


class Kernel:
    """A kernel in `lessons/`, as JupyterLab starts it, with a file for its learner's progress."""

    def __init__(self, client: BlockingKernelClient, file: Path) -> None:
        self.client, self.file = client, file

    def run(self, source: str) -> list[tuple[str, dict[str, Any]]]:
        """What a cell shows, as (kind of message, data)."""
        told: list[dict[str, Any]] = []
        self.client.execute_interactive(source, timeout=100, output_hook=told.append)
        assert not [m for m in told if m["msg_type"] in ("error", "stream")], told
        return [(m["msg_type"], m["content"]["data"]) for m in told if "data" in m["content"]]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    file = tmp_path_factory.mktemp("learner") / "progress.json"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), SWITCH: str(file)}
    manager, client = start_new_kernel(
        kernel_name="python3", env=environment, cwd=str(ROOT / "lessons")
    )
    try:
        yield Kernel(client, file)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@pytest.mark.real
def test_the_top_follows_the_checks(kernel: Kernel) -> None:
    ((kind, data),) = kernel.run('import helpers\n\nhelpers.lesson("02")')
    assert kind == "display_data" and not kernel.file.exists()
    assert f"Lesson 02: 0 of 5 exercises, 0 of {MOST} points" in data["text/plain"]
    assert 'Next: <a href="03_data_parallelism.ipynb">03 Data parallelism</a>' in data["text/html"]

    kernel.run(f"{RIGHT}from helpers.checks.check import known_status\nknown_status('02.4', right)")
    assert not kernel.file.exists()  # a demonstration is no check

    shown = kernel.run(CHECK)
    updates = [data["text/plain"] for kind, data in shown if kind == "update_display_data"]
    assert f"Lesson 02: 1 of 5 exercises, {POINTS['02.4']} of {MOST} points" in updates[0]
    assert load(kernel.file).answers["02.4"].said == "passed"


@pytest.mark.real
@pytest.mark.thorough
def test_a_build_neither_shows_nor_keeps_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, str(tmp_path / "progress.json"))  # the author's own
    sources = ('import helpers\nhelpers.lesson("02")', RIGHT + CHECK)
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    execute(notebook, tmp_path)
    assert notebook.cells[0].outputs == []
    assert "Passed" in str(notebook.cells[1].outputs)
    assert [*tmp_path.iterdir()] == []


def test_every_lesson_shows_it_in_its_first_cell() -> None:
    paths = [*notebooks(ROOT / "solutions"), TEMPLATE / "solution.ipynb"]
    for path in paths:
        number = path.name[:2] if path.name[0].isdigit() else "NN"
        assert next(code_cells(read(path))).source.endswith(f'\nhelpers.lesson("{number}")'), path


def test_it_can_be_read_and_heard() -> None:
    answers = {"02.1": Answer("2026-01-01T00:00:00+00:00", "passed")}
    two = Standing((Entry("02.1", "Scatter", 2), Entry("02.2", "Tree", 3)), answers)
    given = {"Lesson 02": two}, ["A <note>."], {"Before": Path("01_<a>.ipynb")}
    page = as_html(*given)
    assert as_text(*given) == (
        "Lesson 02: 1 of 2 exercises, 2 of 5 points\nA <note>.\nBefore: 01 <a> (01_<a>.ipynb)"
    )
    assert "1 of 2 exercises, 2 of 5 points" in page and "A &lt;note&gt;." in page
    assert '<progress aria-label="Lesson 02, points" max="5" value="2"' in page
    assert '<a href="01_&lt;a&gt;.ipynb">01 &lt;a&gt;</a>' in page


def test_what_it_says_where_the_file_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "progress.json"
    monkeypatch.setenv(SWITCH, str(file))
    told = _told("02", {})
    assert told and told["text/plain"].startswith("Lesson 02: 0 of 5 exercises, 0 of")
    note("02.1", "passed", index()["02"])
    note("02.1", "wrong", index()["02"])
    told = _told("02", {})
    assert told and told["text/plain"].endswith("not when checked last: 02.1.")
    monkeypatch.setattr("helpers.notebook.record.writable", lambda folder: False)
    told = _told("02", {})
    assert told and "1 of 5 exercises" in told["text/plain"] and NOT_KEPT in told["text/html"]
    file.write_text("no JSON", encoding="utf-8")
    told = _told("02", {})
    assert told and told["text/plain"] == NOT_KEPT
