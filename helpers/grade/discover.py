"""Which submissions there are: FOLDER/<student>/NN_name.ipynb or FOLDER/<student>.ipynb."""

from __future__ import annotations

import contextlib
import filecmp
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from helpers.course.setup.places import ROOT
from helpers.grade.files import came, file_name, of_system, printable
from helpers.grade.wish import GradingError

SUFFIX = ".ipynb"
# A notebook's name: some browsers put another ending behind it.
NOTEBOOK = re.compile(r"(.+)\.ipynb(?:\.json|\.txt)?", re.IGNORECASE | re.DOTALL)
PACKED = (".zip", ".rar", ".7z", ".tar", ".gz", ".tgz")
# What beside the students' folders is nobody's work: a list, and what is still being written.
NOBODYS = (".csv", ".part", ".crdownload", ".download", ".tmp", ".swp", "~")
IGNORED = {"__MACOSX"}
MOST_NAMED = 5
SEVERAL = "Several notebooks could be"
CANNOT = "cannot be read"
LINK = "is a symbolic link, and links are not followed: put what it leads to there"
# What browsers, file managers, JupyterLab and learning management systems make of a second "ann".
COPY = re.compile(
    r"(?:copy of )?(.+?)"
    r"(?:\s*\(\d+\)|[-_]\d{1,2}|(?:\s-)?[\s-]copy\s?\d*|\s\(copy\)|-checkpoint)*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Submission:
    """What one student handed in.

    name: as it is shown, one line. raw: as the file system has it. id: of its files in OUT. path:
    the notebook, None where there is none to read; note: then why, in a sentence, or what else
    the instructor should know. taken: which notebook was taken and why, where there were several;
    the student is told too. stray: whether it may be nobody's, since it is no notebook.
    """

    name: str
    raw: str
    id: str
    path: Path | None
    note: str = ""
    taken: str = ""
    stray: bool = False


def lesson_file(lesson: str) -> str:
    """The name of a lesson's notebook, such as "02_messages.ipynb". Raises GradingError."""
    found = sorted((ROOT / "lessons").glob(f"{lesson}_*{SUFFIX}"))
    if not found:
        raise GradingError(f"There is no lesson {lesson}; give its number, such as --lesson 03.")
    return found[0].name


def submission(
    raw: str, path: Path | None, note: str = "", taken: str = "", stray: bool = False
) -> Submission:
    """A submission by its name in the file system."""
    return Submission(printable(raw), raw, file_name(raw), path, note, taken, stray)


def discover(folder: Path, lesson: str) -> list[Submission]:
    """All submissions of a folder, ordered by name. Raises GradingError where it cannot be read."""
    expected = lesson_file(lesson)
    found: list[Submission] = []
    loose: list[Submission] = []
    stray: dict[str, list[Path]] = {}
    try:
        listed = _listed(folder)
    except OSError as error:
        raise GradingError(f"{folder} {CANNOT} ({error.strerror}).") from None
    for entry in listed:
        if entry.is_dir() and not entry.is_symlink() and entry.name not in IGNORED:
            book = NOTEBOOK.fullmatch(entry.name)  # as some programs unpack one
            found.append(_in_folder(entry, book[1] if book else entry.name, expected))
        elif named := NOTEBOOK.fullmatch(entry.name):
            path, note = _notebook(entry)
            if path and entry.suffix.lower() != SUFFIX:
                note = f"The notebook is called {printable(entry.name)} here."
            loose.append(submission(named[1], path, note))
        elif entry.is_symlink() and entry.is_dir():
            found.append(submission(entry.name, None, f"The folder {LINK}."))
        elif entry.is_file() and not entry.name.lower().endswith(NOBODYS):
            stray.setdefault(entry.stem.removesuffix(SUFFIX), []).append(entry)
    found += _beside(loose)
    there = {one.raw for one in found}
    for raw, files in stray.items():
        if raw not in there:
            note = f"There is no notebook, but {_named(files)}"
            found.append(submission(raw, None, note, stray=True))
    return told_apart(found)


def _listed(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if not one.name.startswith("."))


def _named(files: Sequence[Path]) -> str:
    """Files that are no notebooks, how many there are, and what to do with them."""
    told = f"{len(files)} other file{'s' * (len(files) > 1)}: {_first(p.name for p in files)}."
    if any(one.suffix.lower() in PACKED for one in files):
        return f"{told} Unpack what is packed into a folder of this name, or hand in the notebook."
    return f"{told} Hand in the notebook itself, whose name ends in {SUFFIX}."


def _first(names: Iterable[str]) -> str:
    """Names, up to a few, and how many more there are."""
    shown = [*map(printable, names)]
    more = f" and {len(shown) - MOST_NAMED} more" if len(shown) > MOST_NAMED else ""
    return ", ".join(shown[:MOST_NAMED]) + more


def fit(name: str, expected: str) -> int:
    """How far a file's name is from that of the lesson's notebook: 0 for the same."""
    number = expected[:2]
    rules = (name == expected, name.startswith(f"{number}_"), name.startswith(number))
    return next((far for far, fits in enumerate(rules) if fits), len(rules))


def _in_folder(folder: Path, name: str, expected: str) -> Submission:
    """The notebook in the folder of a student: by its name, else by its number, else the only one.

    Folders in it are looked into as well: nbgrader has one for each assignment.
    """
    try:
        top = _listed(folder)
        inner = [p for p in top if p.is_dir() and not p.is_symlink() and p.name not in IGNORED]
        there = [*top, *(file for each in inner for file in _listed(each))]
    except OSError as error:
        return submission(name, None, f"The folder {CANNOT} ({error.strerror}).")
    books = [one for one in there if NOTEBOOK.fullmatch(one.name)]
    books = [one for one in books if one not in inner] or books
    if not books:
        note = f"The folder holds no {expected}"
        files = [one for one in there if one.is_file()]
        note += f", but {_named(files)}" if files else "."
        return submission(name, None, note)

    def far(one: Path) -> tuple[int, bool]:
        return fit(one.name, expected), one.parent != folder

    nearest = min(map(far, books))
    fitting = [one for one in books if far(one) == nearest]
    if len(fitting) > 1:
        listed = _first(str(one.relative_to(folder)) for one in fitting)
        why = f"{SEVERAL} {expected} ({listed}), and none was graded; leave one."
        if len(fitting) > MOST_NAMED:
            why += f" If they are {len(fitting)} students', grade this folder instead."
        return submission(name, None, why)
    path, note = _notebook(fitting[0])
    if path and path.name != expected:
        note = f"The notebook is called {printable(path.name)} here, not {expected}."
    stem = expected.removesuffix(SUFFIX)
    limit = min(max(nearest[0], 1), 2)
    others = [o for o in books if fit(o.name, expected) <= limit or stem in o.name]
    return submission(name, path, note, _taken(path, others, expected))


def _taken(taken: Path | None, fitting: Sequence[Path], expected: str) -> str:
    """Which of several notebooks that may be the lesson's is taken, and why; "" for a single one.

    It is the one with the lesson's own name: a copy's name does not say which of both is newer.
    """
    others = [one for one in fitting if one != taken]
    if taken is None or not others:
        return ""
    listed = _first(
        f"{os.path.relpath(one, taken.parent)} ({_compared(taken, one)})" for one in others
    )
    called, far = printable(taken.name), fit(taken.name, expected)
    why = "alone begins with its number" if far else "has the lesson's own name"
    if any(fit(one.name, expected) == far for one in others):
        why = "lies in no further folder"
    return (
        f"The folder holds {called} and also {listed}. {called} was graded, since it {why}; where "
        f"another one is meant, leave only that one, and call it {expected}."
    )


def _compared(taken: Path, other: Path | None) -> str:
    """What another notebook is beside the one that was taken."""
    with contextlib.suppress(OSError):
        if other is not None and _notebook(other)[0]:
            same = filecmp.cmp(taken, other, shallow=False)
            return "the same file" if same else "which differs from it"
    return "which was not read"


def _beside(loose: list[Submission]) -> list[Submission]:
    """Files of students; one that is called like a copy of another is told at both.

    "ann-1" may be somebody else than "ann", so both are graded.
    """
    names, told = {one.raw for one in loose}, dict[str, list[str]]()
    for raw in names:
        found = COPY.fullmatch(raw)
        whose = found[1] if found else raw
        if whose != raw and whose in names:
            copy, first = (printable(name + SUFFIX) for name in (raw, whose))
            said = (
                f"{copy} is called like a second copy of {first}. Each was graded as a submission "
                "of its own: where both are one student's, leave the one that counts."
            )
            for name in (raw, whose):
                told.setdefault(name, []).append(said)
    return [replace(one, taken=" ".join(sorted(told.get(one.raw, ())))) for one in loose]


def one_of(several: Sequence[Submission], expected: str) -> Submission:
    """What counts of all that one person has handed in: a notebook, the lesson's, the latest."""
    if len(several) == 1:
        return several[0]

    def order(one: Submission) -> tuple[bool, int, str]:
        system, said = of_system(one.raw)
        file = f"{said['file']}{SUFFIX}" if said.get("file") else one.path.name if one.path else ""
        stem = COPY.fullmatch(file.removesuffix(SUFFIX))
        near = -min(fit(file, expected), fit(f"{stem[1]}{SUFFIX}" if stem else file, expected))
        return one.path is not None, near, came(system, said.get("when", ""))

    ranked = sorted(several, key=order, reverse=True)
    best, others = ranked[0], ranked[1:]
    differs = [a != b for a, b in zip(order(best), order(others[0]), strict=True)]
    reasons = ("it alone is a notebook", "its name is the lesson's", "it came last")
    why = reasons[differs.index(True)] if any(differs) else "its name comes first: leave one"
    if best.path is None:
        return replace(best, note=" ".join(one.note for one in ranked))
    listed = _first(f"{_place(one)} ({_compared(best.path, one.path)})" for one in others)
    told = (
        f"{len(several)} submissions are one person's: {_place(best)} was graded, since {why}; not "
        f"{listed}. Where another one is meant, leave only that one."
    )
    return replace(best, taken=f"{told} {best.taken}".strip())


def _place(one: Submission) -> str:
    """Where it lies: a file, or a student's folder and the notebook in it."""
    if one.path is None:
        return printable(one.raw)
    book = NOTEBOOK.fullmatch(one.path.name)
    in_folder = book is None or book[1] != one.raw
    return printable(f"{one.raw}/{one.path.name}" if in_folder else one.path.name)


def _notebook(path: Path) -> tuple[Path | None, str]:
    """Its path, or why it is none to read."""
    if path.is_symlink():
        return None, f"The notebook {LINK}."
    if not path.is_file():
        return None, "The notebook is not a regular file: put the file itself there."
    if not os.access(path, os.R_OK):
        return None, f"The notebook {CANNOT} (Permission denied)."
    return path, ""


def told_apart(submissions: Iterable[Submission]) -> list[Submission]:
    """Ordered by name, with names and ids that no two share."""
    told: list[Submission] = []
    names: set[str] = set()
    ids: set[str] = set()
    for one in sorted(submissions, key=lambda one: (one.name.casefold(), os.fsencode(one.raw))):
        name, identity, number = one.name, one.id, 2
        while name in names or identity in ids:
            name, identity, number = f"{one.name} ({number})", f"{one.id}-{number}", number + 1
        names.add(name)
        ids.add(identity)
        told.append(replace(one, name=name, id=identity))
    return told
