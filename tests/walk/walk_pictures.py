"""Pictures of a lesson's page, piece by piece."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from walk_lab import NARROW, NOTEBOOK, WIDE, Lesson

PIECES = 200  # more than any lesson has
TALL = (1400, 2400)  # for one cell with all that it shows
OVERLAP = 40  # pixels that two pieces share


SCROLL = f"""top => {{
    {NOTEBOOK}
    const outer = notebook.outerNode, last = notebook.widgets.at(-1).node;
    outer.scrollTop = top;
    const below = last.getBoundingClientRect().bottom - outer.getBoundingClientRect().bottom;
    // A cell far below is not on the page yet.
    const end = last.isConnected && below <= 0;
    return [outer.clientHeight, end || outer.scrollTop < top];
}}"""
SETTLED = """() => new Promise(done => {
    const images = [...document.querySelectorAll('.jp-Notebook img')].map(i => i.decode());
    Promise.allSettled(images).then(() => requestAnimationFrame(() => requestAnimationFrame(done)));
})"""
# What is wider than its place, or is shown as broken, by the cell that it is in.
FAULTS = f"""() => {{
    {NOTEBOOK}
    const wide = '.jp-RenderedMarkdown, .jp-OutputArea-output', found = [];
    for (const cell of notebook.widgets) {{
        const id = cell.model.id, node = cell.node;
        for (const part of node.querySelectorAll(wide))
            if (part.scrollWidth > part.clientWidth + 1)
                found.push(`${{id}}: ${{part.scrollWidth - part.clientWidth}} px too wide`);
        for (const image of node.querySelectorAll('img'))
            if (image.complete && !image.naturalWidth) found.push(`${{id}}: a broken picture`);
        if (node.querySelector('mjx-merror')) found.push(`${{id}}: a broken formula`);
    }}
    return found;
}}"""


def pieces(lesson: Lesson, folder: Path) -> None:
    """The whole notebook in pieces as high as the window, each a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    page, top = lesson.page, 0
    outer = page.locator(".jp-NotebookPanel:visible .jp-WindowedPanel-outer")
    for n in range(PIECES):
        page.evaluate(SCROLL, top)
        page.evaluate(SETTLED)
        height, end = page.evaluate(SCROLL, top)
        outer.screenshot(path=folder / f"{n:03}.png")
        if end:
            break
        top += height - OVERLAP


def faults(lesson: Lesson) -> list[str]:
    """What does not fit its place, or is broken, on the page as it is now."""
    found: list[str] = lesson.page.evaluate(FAULTS)
    return found


def narrow(lesson: Lesson, folder: Path) -> list[str]:
    """The notebook in a narrow window; returns what does not fit."""
    with window(lesson, *NARROW):
        pieces(lesson, folder)
        return faults(lesson)


def dark(lesson: Lesson, folder: Path) -> None:
    """The notebook in the dark theme."""
    lesson.command("apputils:change-theme", theme="JupyterLab Dark")
    lesson.page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    pieces(lesson, folder)
    lesson.command("apputils:change-theme", theme="JupyterLab Light")


@contextlib.contextmanager
def window(lesson: Lesson, width: int, height: int) -> Iterator[None]:
    """A window of another size."""
    lesson.page.set_viewport_size({"width": width, "height": height})
    lesson.page.wait_for_timeout(500)
    yield
    lesson.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})


def cell(lesson: Lesson, identity: str, path: Path) -> None:
    """One cell with its outputs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with window(lesson, *TALL):
        lesson.show(identity)
        lesson.page.evaluate(SETTLED)
        node = f"id => {{ {NOTEBOOK} return notebook.widgets.find(c => c.model.id === id).node; }}"
        lesson.page.evaluate_handle(node, identity).as_element().screenshot(path=path)
