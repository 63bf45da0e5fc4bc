"""In JupyterLab, in a browser: lesson 00 run to the end, its widget moved; a trace looked at."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from helpers.setup import system

ROOT = Path(__file__).resolve().parents[2]
LESSON = ROOT / "lessons" / "00_start_here.ipynb"
VIEWER = "viewer.ipynb"
EXPLORE = """\
from helpers.engines.trace import Event, Trace

events = [Event(rank, "computing", 1e-3 * rank, 1e-3 * rank + 2e-3) for rank in range(3)]
sends = [Event(rank, "sending", 1e-3 * rank + 2e-3, 5e-3, "send to 0", 0, 40) for rank in (1, 2)]
Trace([*events, *sends], 3).explore()
"""
TOKEN = "only-for-this-test"
CHROMIUM = system.browser()
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.timeout(300),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: ./course doctor says why"),
]

CELLS = """() => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    return notebook.model.sharedModel.toJSON().cells;
}"""
SHOW = """id => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    const index = notebook.widgets.findIndex(cell => cell.model.id === id);
    notebook.activeCellIndex = index;
    return notebook.scrollToItem(index, 'start');
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where JupyterLab shows notebooks, started as `./course lab` starts it; NAME is one's name."""
    tmp_path = tmp_path_factory.mktemp("lab")
    shutil.copy(LESSON, tmp_path / LESSON.name)
    nbformat.write(viewer_notebook(), tmp_path / VIEWER)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "helpers.cli", "lab", "--no-browser", f"--port={port}"]
    command += [f"--ServerApp.root_dir={tmp_path}", "--LabApp.expose_app_in_browser=True"]
    home = tmp_path / "home"
    private = {"JUPYTER_TOKEN": TOKEN, "PYTHONPATH": str(ROOT), "HOME": str(home)}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **private},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/api")
            yield f"http://127.0.0.1:{port}/lab/tree/NAME?token={TOKEN}"
        finally:
            server.terminate()


def wait_for(url: str, seconds: float = 60) -> None:
    """Return once the server answers."""
    until = time.monotonic() + seconds
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            opener.open(url, timeout=5).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def viewer_notebook() -> nbformat.NotebookNode:
    """A notebook that shows the viewer of a trace."""
    cell = nbformat.v4.new_code_cell(EXPLORE, id="explore")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel})


@pytest.fixture
def page(address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A notebook's page, the lesson's or the one that a test names, with its kernel ready."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(address.replace("NAME", getattr(request, "param", LESSON.name)))
        page.wait_for_function(
            "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel",
            timeout=90_000,
        )
        try:
            yield page
        finally:
            browser.close()


def pictures(cell: dict[str, Any]) -> list[str]:
    """The PNG pictures among a cell's outputs."""
    return [o["data"]["image/png"] for o in cell["outputs"] if "image/png" in o.get("data", {})]


def test_lesson_00_runs_untouched_and_its_widget_redraws(page: Any) -> None:
    """Run All goes through without an error; an arrow key on a slider changes the picture."""
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    code = [cell for cell in page.evaluate(CELLS) if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code), "Run All stopped before the end"
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not [o for o in outputs if o["output_type"] == "error" or o.get("name") == "stderr"]
    assert "Exercise 00.1 is not done yet" in str(outputs)

    sliders = [cell for cell in code if "explore(" in "".join(cell["source"])]
    assert sliders, "lesson 00 has no widget"
    identity = sliders[0]["id"]
    before = pictures(sliders[0])
    assert before
    page.evaluate(SHOW, identity)
    handle = page.locator(".widget-slider .noUi-handle").first
    handle.wait_for(state="visible", timeout=30_000)
    handle.focus()
    page.keyboard.press("ArrowRight")
    until = time.monotonic() + 30
    while True:
        after = next(pictures(c) for c in page.evaluate(CELLS) if c["id"] == identity)
        if after != before:
            break
        assert time.monotonic() < until, "the picture did not follow the slider"
        page.wait_for_timeout(100)


@pytest.mark.parametrize("page", [VIEWER], indirect=True)
def test_the_viewer_of_a_trace_zooms_by_keyboard_and_names_what_is_under_the_pointer(
    page: Any,
) -> None:
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    timeline = page.locator(".course-timeline")
    timeline.wait_for(state="visible", timeout=60_000)
    assert "from 0.000 to 5.000 ms: 5 events" in timeline.get_attribute("aria-label")

    # Nothing is named before the pointer comes; then the bar under it, and only that.
    bar = timeline.locator(".bar", has_text="rank 1, sending")
    assert timeline.locator(".name:visible").count() == 0
    bar.locator("rect").hover()
    said = " ".join(timeline.locator(".name").locator("visible=true").all_text_contents())
    assert said == "rank 1, sending: send to 0 3.000 to 5.000 ms, 2 ms long, 40 bytes"

    # An arrow key on the left end of the time zooms.
    page.locator(".widget-slider .noUi-handle").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "() => !document.querySelector('.course-timeline').ariaLabel.includes('from 0.000')",
        timeout=30_000,
    )
    assert "to 5.000 ms" in timeline.get_attribute("aria-label")

    # So does a button; the slider of events says a name for who has no pointer.
    page.get_by_role("button", name="all", exact=True).focus()
    page.keyboard.press("Enter")
    page.locator(".widget-slider .noUi-handle").last.focus()
    page.keyboard.press("ArrowRight")
    status = page.locator(".widget-html [role=status]")
    page.wait_for_function(
        "() => document.querySelector('.widget-html [role=status]').innerText.includes('rank 0')",
        timeout=30_000,
    )
    assert "computing; 0.000 to 2.000 ms" in status.inner_text()
    # The saved notebook keeps nothing of it.
    kept = next(cell for cell in page.evaluate(CELLS) if cell["id"] == "explore")
    assert not [o for o in kept["outputs"] if o["output_type"] != "display_data"]
