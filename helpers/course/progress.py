"""`./course progress`: which exercises are done, and what to go on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from helpers.course.setup import places
from helpers.notebook import record
from helpers.notebook.standing import (
    Standing,
    lesson_files,
    next_lesson,
    standings,
    title_of,
    together,
)

ANOTHER = f"Name another with {record.SWITCH}=/a/file/of/yours in the environment."


def progress(as_json: bool) -> int:
    """Print what is kept; 1 where it cannot be read. as_json: for a script."""
    path, kept, notes = found()
    lessons = standings(kept) if kept is not None else {}
    if as_json:
        print(json.dumps(data(path, lessons, notes), indent=1, ensure_ascii=False))
    else:
        if lessons:
            _show(lessons)
        for note in notes:
            print(note)
    return 1 if kept is None and path is not None else 0


def found() -> tuple[Path | None, record.Record | None, list[str]]:
    """The file, what it holds, and what is to be said of it; None where there is neither."""
    try:
        path = record.place()
    except RuntimeError:
        return None, None, [f"You have no home folder here, so no progress is kept. {ANOTHER}"]
    if path is None:
        return None, None, [f"{record.SWITCH} is off: no progress is kept."]
    shown = short(path)
    notes = [
        f"{short(other)} could not be read and was set aside: delete it if you do not miss it."
        for other in record.set_aside(path)
    ]
    try:
        kept = record.load(path)
    except record.Newer:
        why = "was written by a newer version of the course, and stays as it is: update this one."
    except record.Broken:
        why = "is not what the course writes. The next check sets it aside and begins a new one."
    except OSError as error:
        why = f"cannot be read ({error.strerror}). {ANOTHER}"
    else:
        if not record.can_be_written(path):
            notes.append(f"{shown} cannot be written to: what passes now is not kept. {ANOTHER}")
        return path, kept, notes
    return path, None, [*notes, f"{shown} {why}"]


def short(path: Path) -> str:
    """A path with ~ for the user's home folder."""
    home = str(Path("~").expanduser())
    return str(path).replace(home, "~", 1) if str(path).startswith(home + "/") else str(path)


def next_step(lessons: dict[str, Standing]) -> dict[str, str] | None:
    """The exercise to go on with, and its notebook; None where all that are here are done."""
    files = lesson_files(places.ROOT / "lessons")
    lesson = next_lesson(lessons, [*files])
    entry = lessons[lesson].first_open if lesson else None
    if lesson is None or entry is None:
        return None
    file = files[lesson].relative_to(places.ROOT).as_posix()
    return {"exercise": entry.number, "title": entry.title, "file": file}


def data(path: Path | None, lessons: dict[str, Standing], notes: list[str]) -> dict[str, Any]:
    """All that the command tells, for a script."""
    titles = titles_of(lessons)
    return {
        "file": str(path) if path else None,
        "lessons": [
            {"lesson": lesson, "title": titles[lesson], **_sums(one), "exercises": _each(one)}
            for lesson, one in lessons.items()
        ],
        "total": _sums(together(lessons.values())),
        "next": next_step(lessons),
        "notes": notes,
    }


def _sums(one: Standing) -> dict[str, int]:
    return {"done": one.done, "of": len(one.entries), "points": one.points, "most": one.most}


def _each(one: Standing) -> list[dict[str, Any]]:
    """passed: when for the first time, in UTC, or null; said: what the last check said, or null."""
    return [
        {
            "exercise": entry.number,
            "points": entry.points,
            "passed": one.passed(entry) or None,
            "said": one.answers[entry.number].said if entry.number in one.answers else None,
        }
        for entry in one.entries
    ]


def titles_of(lessons: dict[str, Standing]) -> dict[str, str]:
    """What the lessons are called, by number; the number alone where its notebook is not here."""
    files = lesson_files(places.ROOT / "lessons")
    return {one: title_of(files[one]) if one in files else one for one in lessons}


def _show(lessons: dict[str, Standing]) -> None:
    from rich import box
    from rich.console import Console
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_footer=len(lessons) > 1)
    total = together(lessons.values())
    table.add_column("lesson", "total")
    table.add_column("exercises", f"{total.done} of {len(total.entries)}", justify="right")
    table.add_column("points", f"{total.points} of {total.most}", justify="right")
    table.add_column("", ProgressBar(max(total.most, 1), total.points, width=12))
    for lesson, title in titles_of(lessons).items():
        one = lessons[lesson]
        table.add_row(
            title,
            f"{one.done} of {len(one.entries)}",
            f"{one.points} of {one.most}",
            ProgressBar(max(one.most, 1), one.points, width=12),
        )
    console = Console()
    console.print(table)
    if total.slipped:
        said = f"Passed before, but not when checked last: {', '.join(total.slipped)}."
        console.print(said, highlight=False)
    if step := next_step(lessons):
        title = f" ({step['title']})" if step["title"] else ""
        said = f"Next: exercise {step['exercise']}{title}, in {step['file']}"
    else:
        said = "All exercises that are here are done."
    console.print(said, highlight=False, markup=False, soft_wrap=True)
