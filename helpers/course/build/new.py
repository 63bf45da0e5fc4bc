"""`./course new NN NAME`: a lesson's skeleton, which passes every check; and taking it away again.

The files of `template/` are a lesson with the number NN and the name my_subject. The README lists
every lesson.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from helpers.course.build.run import ROOT, build, notebooks

TEMPLATE = Path(__file__).parent / "template"
# How a lesson's rows begin in the page that lists all of them.
LISTS = {"README.md": r"\| \[(\d\d) "}
README_ROW = (
    "| [{lesson} {title}](lessons/{lesson}_{name}.ipynb) | a mean over the ranks, a count of "
    "steps, a rule that drops every other gradient | – |"
)


class NotNew(ValueError):
    """A lesson cannot be made or taken away; the text says why."""


def places(lesson: str, name: str) -> dict[str, str]:
    """Where each file of the template comes to lie, from the course's folder."""
    inside = sorted(p.relative_to(TEMPLATE).as_posix() for p in TEMPLATE.glob("*/*.py"))
    found = {p: f"helpers/lessons/{name}/{p.replace('my_subject', name)}" for p in inside}
    return found | {
        "room.py": f"helpers/lessons/{name}/__init__.py",
        "right_answers.py": f"tests/lessons/{name}/right_answers_{lesson}.py",
        "solution.ipynb": f"solutions/{lesson}_{name}.ipynb",
    }


def new(lesson: str, name: str, root: Path = ROOT) -> list[str]:
    """Write a lesson, list it, run its solution and build it; returns the names of its files.

    Raises NotNew with a sentence where the number is taken, or where one of the two is none.
    """
    if not re.fullmatch(r"\d\d", lesson):
        raise NotNew(f"A lesson's number has two digits, such as 19; {lesson!r} has not.")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise NotNew(
            f"A lesson's name is made of a-z, 0-9 and _, such as my_subject; not {name!r}."
        )
    taken = [p.name for p in notebooks(root / "solutions") if p.name.startswith(lesson)]
    files = places(lesson, name)
    taken += [place for place in files.values() if (root / place).exists()]
    if taken:
        raise NotNew(f"{taken[0]} is there already: choose another number or name.")
    for source, place in files.items():
        text = (TEMPLATE / source).read_text(encoding="utf-8")
        text = text.replace("NN", lesson).replace("my_subject", name)
        text = text.replace("my subject", name.replace("_", " "))
        text = text.replace("My subject", name.replace("_", " ").capitalize())
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(text, encoding="utf-8")
    title = name.replace("_", " ").capitalize()
    add_rows(root, "README.md", lesson, [README_ROW.format(lesson=lesson, title=title, name=name)])
    if build(run=True, only=(lesson,), root=root):
        raise NotNew(f"The files of lesson {lesson} are there, but it could not be built.")
    return [*files.values(), f"lessons/{lesson}_{name}.ipynb"]


def add_rows(root: Path, page: str, lesson: str, rows: Sequence[str]) -> None:
    """Put a lesson's rows into a page's table, behind those of the lessons before it."""
    lines = (root / page).read_text(encoding="utf-8").split("\n")
    found = [
        (n, match[1]) for n, line in enumerate(lines) if (match := re.match(LISTS[page], line))
    ]
    after = max(n for n, number in found if number < lesson)
    lines[after + 1 : after + 1] = rows
    (root / page).write_text("\n".join(lines), encoding="utf-8")


def remove_rows(root: Path, page: str, lesson: str) -> None:
    """Take a lesson's rows out of a page's table."""
    lines = (root / page).read_text(encoding="utf-8").split("\n")
    matches = [re.match(LISTS[page], line) for line in lines]
    kept = [line for line, m in zip(lines, matches, strict=True) if m is None or m[1] != lesson]
    (root / page).write_text("\n".join(kept), encoding="utf-8")


def remove(lesson: str, root: Path = ROOT) -> list[str]:
    """Take a lesson's files away that no commit has yet, and its rows; returns the files' names.

    Raises NotNew with a sentence, and takes nothing away, where a commit has one of them.
    """
    from helpers.course.testing.changed import git  # here, since commands import this package

    found = [p for p in notebooks(root / "solutions") if p.name.startswith(lesson)]
    if not found:
        raise NotNew(f"There is no lesson {lesson} in solutions/.")
    name = found[0].stem[3:]
    folders = [root / "helpers" / "lessons" / name, root / "tests" / "lessons" / name]
    files = [*found, root / "lessons" / found[0].name]
    files += [p for folder in folders for p in folder.rglob("*") if p.is_file()]
    names = [p.relative_to(root).as_posix() for p in files if p.exists() and p.suffix != ".pyc"]
    if kept := git("ls-files", "--", *names, root=root):
        raise NotNew(
            f"{kept[0]} is in a commit or staged for one: remove lesson {lesson} with git."
        )
    for path in files:
        path.unlink(missing_ok=True)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    for page in LISTS:
        remove_rows(root, page, lesson)
    return sorted(names)
