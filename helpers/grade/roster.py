"""The class list: who is in the class, and what the learning management system calls them."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.grade.discover import Submission, one_of, submission, told_apart
from helpers.grade.files import of_system, printable
from helpers.grade.wish import GradingError

# The columns of a Canvas gradebook export and of a Moodle grading worksheet, and what we call them.
COLUMNS = {
    "student": "name",
    "id": "canvas_id",
    "sis user id": "sis_user",
    "sis login id": "login",
    "section": "section",
    "identifier": "participant",
    "full name": "name",
    "email address": "email",
    "last modified (grade)": "modified",
}
ABSENT = "Nothing was handed in."
POSSIBLE = "Points Possible"  # a line of Canvas's that is nobody's


@dataclass(frozen=True)
class Person:
    """One line of the class list; "" for what it does not say."""

    name: str = ""
    canvas_id: str = ""
    sis_user: str = ""
    login: str = ""
    section: str = ""
    participant: str = ""
    email: str = ""
    modified: str = ""

    @property
    def called(self) -> str:
        """The name of the submission that they did not hand in."""
        return self.login or self.name or self.email or self.canvas_id or self.participant

    def answers_to(self) -> set[str]:
        """What their submission may be called, in small letters."""
        number = re.sub(r"\D*", "", self.participant)
        mail = self.email.partition("@")[0]
        family, _, first = self.name.partition(",")  # "Doe, Jane" is "Jane Doe", too
        turned = f"{first.strip()} {family.strip()}".strip()
        names = {self.name, turned, self.sis_user, self.login, self.email}
        names |= {mail, self.canvas_id, self.canvas_id and f"canvas {self.canvas_id}"}
        names |= {number and f"moodle {number}"}
        return {name.casefold() for name in names if name}


def from_name(raw: str) -> Person:
    """What a submission's own name says, where a system made that name."""
    name, (system, said) = printable(raw), of_system(raw)
    match system:
        case "canvas":
            return Person(canvas_id=said["id"])
        case "moodle":
            return Person(name=said["name"], participant=f"Participant {said['id']}")
        case "brightspace":
            return Person(name=said["name"])
        case "blackboard":
            return Person(login=said["id"])
    return Person(login=name, email=name if "@" in name else "")


@dataclass(frozen=True)
class Roster:
    """The class. canvas: the column that holds the lesson's grade in Canvas, "" where none does."""

    people: tuple[Person, ...]
    canvas: str = ""

    def match(self, names: Sequence[str]) -> dict[str, Person]:
        """Whose submissions these are, by their names in the file system.

        A name that fits several people belongs to none.
        """
        keys = [person.answers_to() for person in self.people]
        often = Counter(key for one in keys for key in one)
        known = {
            key: person
            for person, one in zip(self.people, keys, strict=True)
            for key in one
            if often[key] == 1
        }
        found: dict[str, Person] = {}
        for raw in names:
            own = from_name(raw)
            moodle = re.sub(r"\D*", "", own.participant)
            surest = (own.canvas_id and f"canvas {own.canvas_id}") or f"moodle {moodle}"
            told = (printable(raw), own.login, own.name)
            fitting = [surest, *(name.casefold() for name in told)]
            if person := next((known[name] for name in fitting if name in known), None):
                found[raw] = person
        return found


People = list[tuple[Submission, Person | None]]


def read_table(path: Path, what: str) -> list[tuple[int, list[str]]]:
    """The lines of a CSV file that say anything, with their numbers. Raises GradingError.

    Commas or semicolons part the cells, whichever the first line has more of.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise GradingError(f"{what} {path} is not in UTF-8; save it as CSV UTF-8.") from None
    except OSError as error:
        raise GradingError(f"{what} {path} cannot be read ({error.strerror}).") from None
    first = text.partition("\n")[0]
    comma = ";" if first.count(";") > first.count(",") else ","
    reader = csv.reader(io.StringIO(text), delimiter=comma)
    try:
        lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise GradingError(f"{what} {path}, line {reader.line_num}: {error}.") from None
    return [(number, row) for number, row in lines if any(row)]


def read_roster(path: Path, lesson: str) -> Roster:
    """A Canvas gradebook export, a Moodle grading worksheet, or a list with one name a line.

    Raises GradingError.
    """
    if not path.is_file():
        lack = "a folder" if path.is_dir() else "not there"
        raise GradingError(
            f"The class list {path} cannot be read, as it is {lack}; name a file with --roster."
        )
    lines = [[printable(cell) for cell in row] for _, row in read_table(path, "The class list")]
    if not lines:
        raise GradingError(f"The class list {path} is empty.")
    header = [cell.casefold() for cell in lines[0]]
    fields = {COLUMNS[cell]: i for i, cell in enumerate(header) if cell in COLUMNS}
    if "name" not in fields and "login" not in fields:
        words = {"name", "names", "login", "email", "submission", "username", "user", "students"}
        people = [Person(login=row[0]) for row in lines[1 if header[0] in words else 0 :] if row[0]]
        return Roster(tuple(dict.fromkeys(people)))
    people = [
        Person(**{name: row[i].removeprefix("'") for name, i in fields.items() if i < len(row)})
        for row in lines[1:]
    ]
    listed = [p for p in dict.fromkeys(people) if p.called and not p.name.startswith(POSSIBLE)]
    # Canvas's column is the only one whose name holds "lesson 03" or "lesson 3".
    named = [one for one in lines[0] if re.search(rf"(?i)\blesson 0*{int(lesson)}\b", one)]
    return Roster(tuple(listed), named[0] if len(named) == 1 else "")


def whose(here: list[Submission], listed: Roster | None, lesson: str = "") -> People:
    """What was handed in, one a person, and those on the list who are not among them.

    lesson: the name of its notebook. What may be nobody's is somebody's where a name says so.
    """
    matched = listed.match([one.raw for one in here]) if listed else {}
    groups: dict[object, list[Submission]] = {}
    for one in here:
        system, said = of_system(one.raw)
        own = system, said.get("name"), said.get("id") or printable(one.raw)
        groups.setdefault(matched.get(one.raw) or own, []).append(one)
    everybody: list[tuple[Submission, Person | None]] = []
    for several in groups.values():
        kept, person = one_of(several, lesson), matched.get(several[0].raw)
        stray = all(one.stray for one in several) and not person and not of_system(kept.raw)[0]
        kept = submission(kept.raw, kept.path, kept.note, kept.taken, stray)
        everybody.append((kept, person))
    names, there = {one.raw for one, _ in everybody}, {person for _, person in everybody}
    for person in listed.people if listed else ():
        if person not in there:
            name, number = person.called, 2
            while name in names:  # somebody else's submission has it
                name, number = f"{person.called} ({number})", number + 1
            names.add(name)
            everybody.append((submission(name, None, ABSENT), person))
    persons = {one.raw: person for one, person in everybody}
    return [(one, persons[one.raw]) for one in told_apart(one for one, _ in everybody)]
