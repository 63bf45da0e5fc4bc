"""What stands at the top of a lesson: how far the learner is, and the lessons before and after."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from helpers.notebook import record
from helpers.notebook.failed_cells import in_notebook
from helpers.notebook.standing import Standing, lesson_files, standings, title_of, together

BLUE = "#0072B2"
NOT_KEPT = "What passes here is not kept: ./course progress tells why."


Neighbours = dict[str, Path]  # "Before" and "Next": notebooks that lie beside a lesson's
_shown: dict[str, tuple[Neighbours, Any]] = {}  # by lesson, with the output in which it is


def lesson(number: str) -> None:
    """Show how far you are in a lesson, such as "03", and in the course, where progress is kept.

    What is shown follows the checks that pass. Outside a notebook it shows nothing.
    """
    if not in_notebook() or (bundle := _told(number, beside := _beside(number))) is None:
        return
    from IPython.display import display

    _shown[number] = beside, display(bundle, raw=True, display_id=True)


def refresh(number: str) -> None:
    """Show a lesson's standing anew, where it is shown."""
    beside, output = _shown.get(number, ({}, None))
    if output and (bundle := _told(number, beside)) is not None:
        output.update(bundle, raw=True)


def _beside(number: str) -> Neighbours:
    """The lessons before and after, of those that lie in the folder of this notebook."""
    try:
        files = lesson_files(Path.cwd())
    except OSError:
        return {}
    before = [("Before", path) for other, path in files.items() if other < number]
    after = [("Next", path) for other, path in files.items() if other > number]
    return dict([*before[-1:], *after[:1]])


def _told(number: str, beside: Neighbours) -> dict[str, str] | None:
    """The standing as text and as HTML; None where nothing is kept."""
    found: dict[str, Standing] = {}
    try:
        path = record.place()
        if path is None:
            return None
        found = standings(record.load(path))
        notes = [] if record.can_be_written(path) else [NOT_KEPT]
    except (OSError, RuntimeError, record.Broken, record.Newer):
        notes = [NOT_KEPT]
    some = {f"Lesson {number}": found[number]} if number in found else {}
    if len(found) > 1:
        some[f"{len(found)} lessons"] = together(found.values())
    if number in found and (slipped := found[number].slipped):
        notes.append(f"Passed before, but not when checked last: {', '.join(slipped)}.")
    return {"text/plain": as_text(some, notes, beside), "text/html": as_html(some, notes, beside)}


def as_text(some: dict[str, Standing], notes: list[str], beside: Neighbours) -> str:
    """The lines for those who see no HTML. some: by what each is called."""
    lines = [f"{name}: {words(standing)}" for name, standing in some.items()]
    others = [f"{way}: {title_of(path)} ({path.name})" for way, path in beside.items()]
    return "\n".join([*lines, *notes, *others])


def words(standing: Standing) -> str:
    """Such as "2 of 5 exercises, 5 of 13 points"."""
    return (
        f"{standing.done} of {len(standing.entries)} exercises, "
        f"{standing.points} of {standing.most} points"
    )


def as_html(some: dict[str, Standing], notes: list[str], beside: Neighbours) -> str:
    """Quiet lines in the page's own colours, light or dark."""
    links = (
        f'{way}: <a href="{html.escape(path.name)}">{html.escape(title_of(path))}</a>'
        for way, path in beside.items()
    )
    parts = " ".join(_line(name, standing) for name, standing in some.items())
    lines = [parts, *map(html.escape, notes), " · ".join(links)]
    style = f"border-left:.35em solid {BLUE};padding:.3em .9em;margin:.4em 0"
    body = "".join(f'<p style="margin:.2em 0">{line}</p>' for line in lines if line)
    return f'<div role="group" aria-label="Your progress" style="{style}">{body}</div>'


def _line(name: str, standing: Standing) -> str:
    """A name, a small bar and the words that say the same."""
    bar = (
        f'<progress aria-label="{name}, points" max="{standing.most}" value="{standing.points}" '
        f'style="width:6em;margin:0 .5em;accent-color:{BLUE}"></progress>'
    )
    said = f"<strong>{name}</strong>{bar}{words(standing)}"
    return f'<span style="display:inline-block;margin-right:1.5em">{said}</span>'
