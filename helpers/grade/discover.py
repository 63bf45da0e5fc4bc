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
from helpers.grade.files import file_name, printable
from helpers.grade.wish import GradingError

SUFFIX = ".ipynb"
IGNORED = {"__MACOSX"}
SEVERAL = "Several notebooks could be"
CANNOT = "cannot be read"
LINK = "is a symbolic link, and links are not followed"
# What browsers, file managers, JupyterLab and learning management systems make of a second "ann".
COPY = re.compile(
    r"(?:copy of )?(.+?)(?:\s*\(\d+\)|[-_]\d{1,2}|(?:\s-)?[\s-]copy\s?\d*|\s\(copy\))*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Submission:
    """What one student handed in.

    name: as it is shown, one line. raw: as the file system has it. id: of its files in OUT. path:
    the notebook, None where there is none to read; note: then why, in a sentence, or what else
    the instructor should know. taken: which notebook was taken and why, where there were several;
    the student is told too.
    """

    name: str
    raw: str
    id: str
    path: Path | None
    note: str = ""
    taken: str = ""


def lesson_file(lesson: str) -> str:
    """The name of a lesson's notebook, such as "02_messages.ipynb". Raises GradingError."""
    found = sorted((ROOT / "lessons").glob(f"{lesson}_*{SUFFIX}"))
    if not found:
        raise GradingError(f"There is no lesson {lesson}; give its number, such as --lesson 03.")
    return found[0].name


def submission(raw: str, path: Path | None, note: str = "", taken: str = "") -> Submission:
    """A submission by its name in the file system."""
    return Submission(printable(raw), raw, file_name(raw), path, note, taken)


def discover(folder: Path, lesson: str) -> list[Submission]:
    """All submissions of a folder, ordered by name. Raises GradingError where it cannot be read."""
    expected = lesson_file(lesson)
    found: dict[str, Submission] = {}
    loose: dict[str, Submission] = {}
    try:
        listed = _listed(folder)
    except OSError as error:
        raise GradingError(f"{folder} {CANNOT} ({error.strerror}).") from None
    for entry in listed:
        if entry.is_dir() and not entry.is_symlink() and entry.name not in IGNORED:
            found[entry.name] = _in_folder(entry, expected, lesson)
        elif entry.suffix.lower() == SUFFIX:
            path, note = _notebook(entry)
            loose[entry.stem] = submission(entry.stem, path, note)
        elif entry.is_symlink() and entry.is_dir():
            found[entry.name] = submission(entry.name, None, f"The folder {LINK}.")
    for raw, one in _beside(loose).items():
        found[raw] = _both(found[raw], one) if raw in found else one
    return told_apart(found.values())


def _listed(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if not one.name.startswith("."))


def _in_folder(folder: Path, expected: str, lesson: str) -> Submission:
    """The notebook in a student's folder: by its name, else by its number, else the only one."""
    try:
        there = [one for one in _listed(folder) if one.suffix.lower() == SUFFIX]
    except OSError as error:
        return submission(folder.name, None, f"The folder {CANNOT} ({error.strerror}).")
    numbered = [one for one in there if one.name.startswith(f"{lesson}_")]
    numbered = numbered or [one for one in there if one.name.startswith(lesson)]
    fitting = [one for one in there if one.name == expected] or numbered or there
    if not fitting:
        return submission(folder.name, None, f"The folder holds no {expected}.")
    if len(fitting) > 1:
        listed = ", ".join(printable(one.name) for one in fitting[:5])
        why = f"{SEVERAL} {expected} ({listed}), and none was graded; leave one."
        return submission(folder.name, None, why)
    path, note = _notebook(fitting[0])
    if path and path.name != expected:
        note = f"The notebook is called {printable(path.name)} here, not {expected}."
    stem = expected.removesuffix(SUFFIX)
    others = [one for one in there if one in numbered or stem in one.name]
    return submission(folder.name, path, note, _taken(path, others, expected))


def _taken(taken: Path | None, fitting: Sequence[Path], expected: str) -> str:
    """Which of several notebooks that may be the lesson's is taken, and why; "" for a single one.

    It is the one with the lesson's own name: a copy's name does not say which of both is newer.
    """
    others = [one for one in fitting if one != taken]
    if taken is None or not others:
        return ""
    listed = ", ".join(f"{printable(one.name)} ({_compared(taken, one)})" for one in others[:5])
    called = printable(taken.name)
    why = "has the lesson's own name" if called == expected else "alone begins with its number"
    return (
        f"The folder holds {called} and also {listed}. {called} was graded, since it {why}; where "
        f"another one is meant, leave only that one, and call it {expected}."
    )


def _compared(taken: Path, other: Path) -> str:
    with contextlib.suppress(OSError):
        if _notebook(other)[0]:
            same = filecmp.cmp(taken, other, shallow=False)
            return "the same file" if same else "which differs from it"
    return "which was not read"


def _beside(loose: dict[str, Submission]) -> dict[str, Submission]:
    """Files of students; one that is called like a copy of another is told at both.

    "ann-1" may be somebody else than "ann", so both are graded.
    """
    for raw in [*loose]:
        found = COPY.fullmatch(raw)
        whose = found[1] if found else raw
        if whose != raw and whose in loose:
            copy, first = (printable(name + SUFFIX) for name in (raw, whose))
            told = (
                f"{copy} is called like a second copy of {first}. Each was graded as a submission "
                "of its own: where both are one student's, leave the one that counts."
            )
            for name in (raw, whose):
                loose[name] = replace(loose[name], taken=f"{loose[name].taken} {told}".strip())
    return loose


def _notebook(path: Path) -> tuple[Path | None, str]:
    """Its path, or why it is none to read."""
    if path.is_symlink():
        return None, f"The notebook {LINK}."
    if not path.is_file():
        return None, "The notebook is not a regular file."
    if not os.access(path, os.R_OK):
        return None, f"The notebook {CANNOT} (Permission denied)."
    return path, ""


def _both(in_folder: Submission, loose: Submission) -> Submission:
    """One student with a folder and a file: the folder counts where it holds a notebook."""
    kept = in_folder if in_folder.path else loose
    graded = "folder" if in_folder.path else "file"
    why = "since it holds a notebook" if in_folder.path else "since the folder holds no notebook"
    told = f"There is a folder and a file of this name; the {graded} was graded, {why}."
    return replace(kept, taken=f"{told} {kept.taken}".strip())


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
