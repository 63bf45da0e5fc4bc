"""The viewer of a trace as a learner uses it: in JupyterLab, in a browser, by pointer and keys."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
import releases
from walk_lab import opened

pytestmark = pytest.mark.real

EXPLORE = """\
import helpers.notebook.shown
from helpers.engine.trace import Event, Trace

events = [Event(rank, "computing", 1e-3 * rank, 1e-3 * rank + 2e-3) for rank in range(3)]
sends = [Event(rank, "sending", 1e-3 * rank + 2e-3, 5e-3, "send to 0", 0, 40) for rank in (1, 2)]
Trace([*events, *sends], 3).explore()
"""


def in_a_release(folder: Path) -> Path:
    """A release whose lesson is one cell, which shows the viewer of a trace."""
    unpacked = releases.unpack("00", folder)
    cell = nbformat.v4.new_code_cell(EXPLORE, id="explore")
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel})
    nbformat.write(notebook, next((unpacked / "lessons").glob("*.ipynb")))
    return unpacked


@pytest.mark.browser
@pytest.mark.thorough
def test_the_viewer_zooms_by_keyboard_and_names_what_is_under_the_pointer(tmp_path: Path) -> None:
    with opened(in_a_release(tmp_path), tmp_path / "home") as lesson:
        page = lesson.page
        lesson.run_all(60)
        timeline = page.locator(".course-timeline")
        timeline.wait_for(state="visible", timeout=60_000)
        assert "from 0.000 to 5.000 ms: 5 events" in timeline.get_attribute("aria-label")

        # Nothing is named before the pointer comes; then the bar under it, and only that.
        bar = timeline.locator(".bar", has_text="rank 1, sending")
        assert timeline.locator(".name:visible").count() == 0
        bar.locator("rect").hover()
        said = " ".join(timeline.locator(".name").locator("visible=true").all_text_contents())
        assert said == "rank 1, sending: send to 0; 3.000 to 5.000 ms, 2 ms long, 40 bytes"

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
        status = page.locator(".widget-html [role=status]", has_text="rank 0")
        status.wait_for(timeout=30_000)
        assert "computing; 0.000 to 2.000 ms" in status.inner_text()
        # The saved notebook keeps nothing of it.
        kept = lesson.cell("explore")
        assert not [o for o in kept["outputs"] if o["output_type"] != "display_data"]
        assert lesson.trouble == []
