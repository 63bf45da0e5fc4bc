"""Which submissions there are: FOLDER/<student>/NN_name.ipynb or FOLDER/<student>.ipynb."""

from __future__ import annotations

import filecmp
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from helpers.instructor.grading import GradingError
from helpers.instructor.grading.files import file_name, printable
from helpers.setup.places import ROOT

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
    for entry in _listed(folder):
        if entry.name in IGNORED:
            continue
        if entry.is_dir(follow_symlinks=False):
            found[entry.name] = _in_folder(entry, expected, lesson)
        elif entry.name.lower().endswith(SUFFIX):
            raw = entry.name[: -len(SUFFIX)]
            path, note = _notebook(entry)
            loose[raw] = submission(raw, path, note)
        elif entry.is_symlink() and Path(entry.path).is_dir():
            found[entry.name] = submission(entry.name, None, f"The folder {LINK}.")
    for raw, one in _beside(loose).items():
        found[raw] = _both(found[raw], one) if raw in found else one
    return told_apart(list(found.values()))


def _listed(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted((e for e in entries if not e.name.startswith(".")), key=lambda e: e.name)
    except OSError as error:
        if isinstance(folder, Path):
            raise GradingError(f"{folder} {CANNOT} ({error.strerror}).") from None
        raise


def _in_folder(folder: os.DirEntry[str], expected: str, lesson: str) -> Submission:
    """The notebook in a student's folder: by its name, else by its number, else the only one."""
    raw = folder.name
    try:
        names = {e.name: e for e in _listed(folder) if e.name.lower().endswith(SUFFIX)}
    except OSError as error:
        return submission(raw, None, f"The folder {CANNOT} ({error.strerror}).")
    numbered = [name for name in names if name.startswith(f"{lesson}_")]
    numbered = numbered or [name for name in names if name.startswith(lesson)]
    for fitting in ([expected] if expected in names else [], numbered, list(names)):
        if len(fitting) == 1:
            path, note = _notebook(names[fitting[0]])
            if fitting[0] != expected and path:
                note = f"The notebook is called {printable(fitting[0])} here, not {expected}."
            stem = expected.removesuffix(SUFFIX)
            others = [e for n, e in names.items() if n in numbered or stem in n]
            taken = _taken(names[fitting[0]], others, expected) if path else ""
            return submission(raw, path, note, taken)
        if fitting:
            listed = ", ".join(printable(name) for name in fitting[:5])
            why = f"{SEVERAL} {expected} ({listed}), and none was graded; leave one."
            return submission(raw, None, why)
    return submission(raw, None, f"The folder holds no {expected}.")


def _taken(taken: os.DirEntry[str], fitting: Sequence[os.DirEntry[str]], expected: str) -> str:
    """Which of several notebooks that may be the lesson's is taken, and why; "" for a single one.

    It is the one with the lesson's own name: a copy's name does not say which of both is newer.
    """
    others = [one for one in fitting if one.name != taken.name]
    if not others:
        return ""
    listed = ", ".join(f"{printable(one.name)} ({_compared(taken, one)})" for one in others[:5])
    called = printable(taken.name)
    why = "has the lesson's own name" if called == expected else "alone begins with its number"
    return (
        f"The folder holds {called} and also {listed}. {called} was graded, since it {why}; where "
        f"another one is meant, leave only that one, and call it {expected}."
    )


def _compared(taken: os.DirEntry[str], other: os.DirEntry[str]) -> str:
    try:
        if all(one.is_file(follow_symlinks=False) for one in (taken, other)):
            same = filecmp.cmp(taken.path, other.path, shallow=False)
            return "the same file" if same else "which differs from it"
    except OSError:
        pass
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


def _notebook(entry: os.DirEntry[str]) -> tuple[Path | None, str]:
    """Its path, or why it is none to read."""
    if entry.is_symlink():
        return None, f"The notebook {LINK}."
    if not entry.is_file(follow_symlinks=False):
        return None, "The notebook is not a regular file."
    if not os.access(entry.path, os.R_OK):
        return None, f"The notebook {CANNOT} (Permission denied)."
    return Path(entry.path), ""


def _both(in_folder: Submission, loose: Submission) -> Submission:
    """One student with a folder and a file: the folder counts where it holds a notebook."""
    kept = in_folder if in_folder.path else loose
    graded = "folder" if in_folder.path else "file"
    why = "since it holds a notebook" if in_folder.path else "since the folder holds no notebook"
    told = f"There is a folder and a file of this name; the {graded} was graded, {why}."
    return replace(kept, taken=f"{told} {kept.taken}".strip())


def told_apart(submissions: list[Submission]) -> list[Submission]:
    """Ordered by name, with names and ids that no two share."""
    return list(_told_apart(sorted(submissions, key=lambda one: in_order(one.raw))))


def in_order(raw: str) -> tuple[str, bytes]:
    """By what submissions are sorted: the name that is shown, then the bytes on disk."""
    return printable(raw).casefold(), os.fsencode(raw)


def _told_apart(ordered: list[Submission]) -> Iterator[Submission]:
    names: set[str] = set()
    ids: set[str] = set()
    for one in ordered:
        number = 2
        name, identity = one.name, one.id
        while name in names:
            name, number = f"{one.name} ({number})", number + 1
        while identity in ids:  # as likely as a lost lottery, unless somebody tries
            identity, number = f"{one.id}-{number}", number + 1
        names.add(name)
        ids.add(identity)
        yield replace(one, name=name, id=identity)
