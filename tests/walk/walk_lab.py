"""A release's lesson, open in JupyterLab and Chromium as `./course lab` opens it, and driven."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import releases

from helpers.course.setup import system
from tests import kernel_ports

TOKEN = "only-for-this-walk"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WIDE, NARROW = (1400, 1000), (700, 1000)
START = 500.0  # seconds that JupyterLab, and the lesson's kernel, may take to be there

NOTEBOOK = "const panel = window.jupyterapp.shell.currentWidget, notebook = panel.content;"
CELLS = f"() => {{ {NOTEBOOK} return notebook.model.sharedModel.toJSON().cells; }}"
COMMAND = """([name, args]) => {
    window.walkDone = false;
    window.jupyterapp.commands.execute(name, args).then(() => window.walkDone = true);
}"""
RUNNING = f"""() => {{
    {NOTEBOOK}
    const kernel = panel.sessionContext.session?.kernel;
    return !window.walkDone || kernel?.status !== 'idle';
}}"""
SELECT = f"""id => {{
    {NOTEBOOK}
    const index = notebook.widgets.findIndex(cell => cell.model.id === id);
    notebook.activeCellIndex = index;
    notebook.deselectAll();
    return notebook.scrollToItem(index, 'start');
}}"""
WRITE = f"""([id, text]) => {{
    {NOTEBOOK}
    const cell = notebook.widgets.find(cell => cell.model.id === id);
    cell.model.sharedModel.setSource(text);
}}"""


class Lesson:
    """The notebook's page. trouble: what the browser's console had that is an error."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.trouble: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.trouble.append(f"page error: {error}"))
        page.on("requestfailed", self._failed)

    def open(self, url: str) -> None:
        """Show the notebook and wait for its kernel; the list of files is folded away."""
        self.page.goto(url, timeout=START * 1e3)
        self.page.wait_for_function(
            "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel",
            timeout=START * 1e3,
        )
        self.command("application:toggle-left-area")

    def _said(self, message: Any) -> None:
        if message.type == "error":
            where = message.location.get("url", "").partition("?")[0]
            self.trouble.append(f"{message.text} ({where})")

    def _failed(self, request: Any) -> None:
        self.trouble.append(f"{request.failure}: {request.method} {request.url.partition('?')[0]}")

    def cells(self) -> list[dict[str, Any]]:
        """The code cells of the notebook as it is now, with their outputs."""
        return [cell for cell in self.page.evaluate(CELLS) if cell["cell_type"] == "code"]

    def cell(self, identity: str) -> dict[str, Any]:
        return next(cell for cell in self.cells() if cell["id"] == identity)

    def command(self, name: str, limit: float = 60.0, **args: Any) -> None:
        """Carry out a command of JupyterLab; done when the kernel is idle again.

        limit: seconds. Raises AssertionError where it takes longer, with the cells that are left.
        """
        self.page.evaluate(COMMAND, [name, args])
        until = time.monotonic() + limit
        while self.page.evaluate(RUNNING):
            if time.monotonic() > until:
                left = [cell["id"] for cell in self.cells() if cell["execution_count"] is None]
                raise AssertionError(f"{name} is not done after {limit:g} s; cells left: {left}")
            self.page.wait_for_timeout(100)

    def run_all(self, limit: float) -> list[dict[str, Any]]:
        """Run All, with what the cells gave. Every cell has run, and none raised."""
        self.command("notebook:run-all-cells", limit)
        cells = self.cells()
        for cell in cells:
            bad = [o for o in cell["outputs"] if o["output_type"] == "error" or is_stderr(o)]
            assert not bad, (cell["id"], bad)
        left = [cell["id"] for cell in cells if not cell["execution_count"]]
        assert not left, f"Run All stopped before {left}"
        return cells

    def run(self, identity: str, limit: float = 120.0) -> str:
        """Run one cell; returns what it says."""
        self.show(identity)
        self.command("notebook:run-cell", limit)
        return said(self.cell(identity))

    def show(self, identity: str) -> None:
        """Make a cell the active one and scroll to it."""
        self.page.evaluate(SELECT, identity)

    def write(self, identity: str, source: str) -> None:
        self.page.evaluate(WRITE, [identity, source])


def is_stderr(output: dict[str, Any]) -> bool:
    return output.get("name") == "stderr"


def said(cell: dict[str, Any]) -> str:
    """The text of a cell's outputs, without pictures and pages."""
    texts = []
    for output in cell["outputs"]:
        plain = output.get("text", output.get("data", {}).get("text/plain", ""))
        texts.append("".join(plain))
    return "\n".join(texts)


@contextlib.contextmanager
def jupyterlab(unpacked: Path, home: Path) -> Iterator[str]:
    """Where the release's JupyterLab answers; it runs with a home folder of its own.

    The release finds the environment that runs this where set-up would have made one.
    """
    (unpacked / ".venv").symlink_to(sys.prefix)
    home.mkdir()
    kernel_ports.of_a_server(home)
    port = kernel_ports.free_port()
    command = [sys.executable, "-m", "helpers.course.cli", "lab", "--no-browser", f"--port={port}"]
    private = {"JUPYTER_TOKEN": TOKEN, "HOME": str(home)}
    with subprocess.Popen(
        [*command, "--LabApp.expose_app_in_browser=True"],
        cwd=unpacked,
        env={**releases.environment(unpacked), **private},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            wait_for(f"http://127.0.0.1:{port}/api")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            try:
                server.wait(START)
            except subprocess.TimeoutExpired:
                server.kill()
                raise


def wait_for(url: str) -> None:
    """Return once the server answers."""
    until = time.monotonic() + START
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            opener.open(url, timeout=5).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


@contextlib.contextmanager
def opened(unpacked: Path, home: Path) -> Iterator[Lesson]:
    """The lesson of an unpacked release in a browser, with its kernel ready."""
    from playwright.sync_api import sync_playwright

    name = next((unpacked / "lessons").glob("*.ipynb")).name
    with jupyterlab(unpacked, home) as server, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=system.browser(), args=[*FLAGS])
        width, height = WIDE
        lesson = Lesson(browser.new_page(viewport={"width": width, "height": height}))
        try:
            lesson.open(f"{server}/lab/tree/lessons/{name}?token={TOKEN}")
            yield lesson
        finally:
            browser.close()
