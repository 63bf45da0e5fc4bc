"""What stands at the top of a lesson: how far the learner is, and the lessons before and after."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.notebook import record
from helpers.notebook.failed_cells import in_notebook
from helpers.notebook.standing import Standing, lesson_files, standings, title_of, together

BLUE = "#0072B2"
NOT_KEPT = "What passes here is not kept: ./course progress tells why."


@dataclass(frozen=True)
class Neighbour:
    """A lesson whose notebook lies beside this one. way: "Before" or "Next"."""

    way: str
    file: str
    title: str


@dataclass(frozen=True)
class Shown:
    """What is shown for a lesson, and the output in which it is."""

    neighbours: list[Neighbour]
    output: Any


_shown: dict[str, Shown] = {}


def lesson(number: str) -> None:
    """Show how far you are in a lesson, such as "03", and in the course, where progress is kept.

    What is shown follows the checks that pass. Outside a notebook it shows nothing.
    """
    if not in_notebook() or (bundle := _told(number, beside := _beside(number))) is None:
        return
    from IPython.display import display

    output = display(bundle, raw=True, display_id=True)
    _shown[number] = Shown(beside, output)


def refresh(number: str) -> None:
    """Show a lesson's standing anew, where it is shown."""
    shown = _shown.get(number)
    if shown and shown.output and (bundle := _told(number, shown.neighbours)) is not None:
        shown.output.update(bundle, raw=True)


def _beside(number: str) -> list[Neighbour]:
    """The lessons before and after, of those that lie in the folder of this notebook."""
    try:
        files = lesson_files(Path.cwd())
    except OSError:
        return []
    before = [path for other, path in files.items() if other < number][-1:]
    after = [path for other, path in files.items() if other > number][:1]
    found = [Neighbour("Before", path.name, title_of(path)) for path in before]
    return found + [Neighbour("Next", path.name, title_of(path)) for path in after]


def _told(number: str, beside: list[Neighbour]) -> dict[str, str] | None:
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


def as_text(some: dict[str, Standing], notes: list[str], beside: list[Neighbour]) -> str:
    """The lines for those who see no HTML. some: by what each is called."""
    lines = [f"{name}: {words(standing)}" for name, standing in some.items()]
    return "\n".join([*lines, *notes, *(f"{b.way}: {b.title} ({b.file})" for b in beside)])


def words(standing: Standing) -> str:
    """Such as "2 of 5 exercises, 5 of 13 points"."""
    return (
        f"{standing.done} of {len(standing.entries)} exercises, "
        f"{standing.points} of {standing.most} points"
    )


def as_html(some: dict[str, Standing], notes: list[str], beside: list[Neighbour]) -> str:
    """Quiet lines in the page's own colours, light or dark."""
    links = (
        f'{one.way}: <a href="{html.escape(one.file)}">{html.escape(one.title)}</a>'
        for one in beside
    )
    parts = " ".join(_line(name, standing) for name, standing in some.items())
    lines = [parts, *map(html.escape, notes), " · ".join(links)]
    style = f"border-left:.35em solid {BLUE};padding:.3em .9em;margin:.4em 0"
    body = "".join(f'<p style="margin:.2em 0">{line}</p>' for line in lines if line)
    return f'<div role="group" aria-label="Your progress" style="{style}">{body}</div>'


def _line(name: str, standing: Standing) -> str:
    """A name, a small bar and the words that say the same."""
    part = round(100 * standing.points / standing.most) if standing.most else 0
    frame = (
        "display:inline-block;width:6em;height:.6em;border:1px solid currentColor;"
        "border-radius:.3em;overflow:hidden;margin:0 .5em"
    )
    bar = (
        f'<span role="progressbar" aria-label="{name}, points" aria-valuemin="0" '
        f'aria-valuemax="{standing.most}" aria-valuenow="{standing.points}" style="{frame}">'
        f'<span style="display:block;width:{part}%;height:100%;background:{BLUE}"></span></span>'
    )
    said = f"<strong>{name}</strong>{bar}{words(standing)}"
    return f'<span style="display:inline-block;margin-right:1.5em">{said}</span>'
