"""Lesson 00 as its reader meets it: in JupyterLab, in a browser, run to the end, a widget moved."""

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

import pytest

from helpers.setup import system

ROOT = Path(__file__).resolve().parents[2]
LESSON = ROOT / "lessons" / "00_start_here.ipynb"
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


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where JupyterLab shows a copy of lesson 00, started as `./course lab` starts it."""
    shutil.copy(LESSON, tmp_path / LESSON.name)
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
            yield f"http://127.0.0.1:{port}/lab/tree/{LESSON.name}?token={TOKEN}"
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


@pytest.fixture
def page(address: str) -> Iterator[Any]:
    """The lesson's page, with its kernel ready."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(address)
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
