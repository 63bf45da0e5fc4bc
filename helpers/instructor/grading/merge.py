"""`./course grade merge`: the parts that several nodes graded become one class."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from helpers.instructor.grades import SubmissionGrade, from_json
from helpers.instructor.grading import GradingError, overrides
from helpers.instructor.grading.assemble import without_points
from helpers.instructor.grading.discover import in_order
from helpers.instructor.grading.files import keep_only, owned, write
from helpers.instructor.grading.overrides import Overrides, apply
from helpers.instructor.grading.roster import Person
from helpers.instructor.grading.store import Store
from helpers.instructor.report.sheet import Column, Entry, Sheet
from helpers.instructor.report.write import write_reports

# What all parts must agree in, and what to call it.
COMMON = {
    "lesson": "lesson",
    "sandbox": "sandbox",
    "key": "key (--key)",
    "grader": "version of the grader",
    "roster": "class list (--roster)",
    "canvas": "class list (--roster)",
    "exercises": "exercises",
}


@dataclass(frozen=True)
class Part:
    """What one node left in its folder."""

    out: Path
    data: dict[str, Any]


def merge(parts: Sequence[Path], out: Path) -> Sheet:
    """Join the parts in `out`: the same files as one run over everything would have written.

    Overrides of the parts count; those in `out` count more. Raises GradingError where the parts do
    not belong together, or one is missing.
    """
    read = [_read(path.resolve()) for path in parts]
    out = out.resolve()
    if out in [part.out for part in read]:
        raise GradingError(f"{out} is one of the parts; name another --out.")
    _agree(read)
    _complete(read)
    with owned(out):
        overrides.ensure(out)
        first = read[0].data
        columns = tuple(Column(**one) for one in first["exercises"])
        by_id = _submissions(read)
        made = sorted(by_id.values(), key=lambda one: in_order(one[1].raw))
        by_hand = _by_hand([*(part.out for part in read), out], made, columns)
        _copy_results(made, out)
        _join_times(read, out)
        sheet = Sheet(
            first["lesson"],
            first["title"],
            first["sandbox"],
            first["key"],
            first["grader"],
            columns,
            tuple(_with_overrides(entry, by_hand) for _, entry in made),
            roster=first["roster"],
            canvas=first["canvas"],
        )
        write_reports(sheet, out)
    return sheet


def _read(out: Path) -> Part:
    try:
        part = Part(out, json.loads((out / "grades.json").read_bytes()))
    except (OSError, ValueError):
        raise GradingError(
            f"{out} holds no finished part: there is no grades.json. Grade that part first."
        ) from None
    if part.data.get("waiting"):
        raise GradingError(
            f"{out} holds no finished part: submissions were waiting when its watch ended. Grade "
            "that part first."
        )
    return part


def _agree(parts: Sequence[Part]) -> None:
    for name, called in COMMON.items():
        for part in parts[1:]:
            if part.data.get(name) != parts[0].data.get(name):
                raise GradingError(
                    f"{parts[0].out} and {part.out} were not graded with the same {called}; grade "
                    "one of them again."
                )


def _complete(parts: Sequence[Part]) -> None:
    """Raises GradingError unless the parts are 1/N to N/N, or whole classes."""
    shards = [part.data["shard"] for part in parts]
    counts = {shard.partition("/")[2] for shard in shards}
    if len(counts) > 1:
        raise GradingError(f"The parts are of different divisions: {', '.join(shards)}.")
    count = counts.pop()
    wanted = {f"{i}/{count}" for i in range(1, int(count) + 1)} if count else set()
    missing = sorted(wanted - set(shards))
    if missing:
        raise GradingError(f"The parts {', '.join(missing)} are missing; name their folders too.")


def _submissions(parts: Sequence[Part]) -> dict[str, tuple[Part, Entry]]:
    """Each submission, by its id, without overrides."""
    found: dict[str, tuple[Part, Entry]] = {}
    for part in parts:
        for data in part.data["submissions"]:
            entry = _entry(part, data)
            if entry.id in found and found[entry.id][1] != entry:
                raise GradingError(
                    f"{entry.grade.submission!r} is graded in {found[entry.id][0].out} and, "
                    f"differently, in {part.out}; leave one of them out."
                )
            found[entry.id] = (part, entry)
    return found


def _entry(part: Part, data: dict[str, Any]) -> Entry:
    raw = os.fsdecode(bytes.fromhex(data["raw"]))
    grade = _base(part, data)
    return Entry(
        data["id"],
        raw,
        grade,
        (),
        Person(**data["person"]),
        data["listed"],
        data["handed_in"],
        data["found"],
        data.get("taken", ""),
    )


def _base(part: Part, data: dict[str, Any]) -> SubmissionGrade:
    """What grading gave, before overrides."""
    fields = {name: data[name] for name in SubmissionGrade.__dataclass_fields__}
    if not data["handed_in"]:
        columns = [Column(**one) for one in part.data["exercises"]]
        told = from_json(fields)
        return without_points(
            told.submission, told.lesson, told.seed, told.sandbox, columns, "missing", told.note
        )
    stored = Store(part.out).load(data["id"])
    if stored is None:
        raise GradingError(f"{part.out} has lost results/{data['id']}.json; grade that part again.")
    return stored


def _by_hand(
    folders: Sequence[Path], made: Sequence[tuple[Part, Entry]], columns: Sequence[Column]
) -> Overrides:
    """The overrides of all folders, the later one's before the earlier's."""
    names = [entry.grade.submission for _, entry in made]
    points = {column.number: column.points for column in columns}
    found: Overrides = {}
    for folder in folders:
        for name, changes in overrides.read(folder, names, points).items():
            found.setdefault(name, {}).update(changes)
    return found


def _with_overrides(entry: Entry, by_hand: Overrides) -> Entry:
    grade, changed = apply(entry.grade, by_hand.get(entry.grade.submission, {}))
    return replace(entry, grade=grade, overrides=changed)


def _copy_results(made: Sequence[tuple[Part, Entry]], out: Path) -> None:
    """The parts' results, so that the merged folder is one that can be graded on."""
    Store(out).prepare()
    keep_only(out / "results", {f"{entry.id}.json" for _, entry in made})
    for part, entry in made:
        if entry.handed_in:
            name = f"results/{entry.id}.json"
            write(out / name, (part.out / name).read_bytes())


def _join_times(parts: Sequence[Part], out: Path) -> None:
    lines = [part.out / "run" / "timings.jsonl" for part in parts]
    write(out / "run" / "timings.jsonl", b"".join(p.read_bytes() for p in lines if p.exists()))
