"""`./course new NN NAME`: a lesson's skeleton, which passes every check; and taking it away again.

The files of `template/` are a lesson with the number NN and the name my_subject. The README lists
every lesson.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from helpers.course.build.run import ROOT, build, notebooks

TEMPLATE = Path(__file__).parent / "template"
LISTING = "README.md"
ROW = re.compile(r"\| \[(\d\d) ")  # how a lesson's row begins in it


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
    what = "a mean over the ranks, a count of steps"
    row = f"| [{lesson} {title}](lessons/{lesson}_{name}.ipynb) | {what} | – |"
    list_lesson(root, lesson, row)
    if build(run=True, only=(lesson,), root=root):
        raise NotNew(f"The files of lesson {lesson} are there, but it could not be built.")
    return [*files.values(), f"lessons/{lesson}_{name}.ipynb"]


def list_lesson(root: Path, lesson: str, row: str) -> None:
    """Put a lesson's row behind those before it in the README's table; "" takes it out."""
    lines = (root / LISTING).read_text(encoding="utf-8").split("\n")
    numbers = [match[1] if (match := ROW.match(line)) else "" for line in lines]
    if row:
        lines.insert(max(n for n, one in enumerate(numbers) if "" < one < lesson) + 1, row)
    else:
        del lines[numbers.index(lesson)]
    (root / LISTING).write_text("\n".join(lines), encoding="utf-8")


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
    list_lesson(root, lesson, "")
    return sorted(names)
