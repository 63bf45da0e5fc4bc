"""What every answer to an exercise is told: recorded before a spec is changed, compared after it.

    python -m tests.checks.verdicts record FILE 02 06.3 …
    python -m tests.checks.verdicts compare FILE 02 06.3 …
    python -m tests.checks.verdicts passing FILE

Answers are the course's own, the known wrong ones, right ones in another style, an untouched cell,
and mutants of the course's own. Each is asked with the visible cases and with two hidden sets. A
process an exercise asks them one after the other; where an answer does not come to an end, or ends
the process, the next process goes on behind it. FILE is JSON lines; compressed, if it ends in .xz.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from helpers.checks import everything, find
from helpers.checks.spec import Exercise
from tests.checks.mutants import Function, mutants
from tests.checks.right import right_answers
from tests.checks.table import LIMIT, Table, stub

SEEDS = (0, 1, 2)
MUTANT_LIMIT = {"torch": 3.0, "tensorflow": 20.0}  # seconds for a case
MEMORY = 12 << 30
GOES_ON = 3  # exit status: the next process is to begin behind the last row
ENDED = ["died", "", "the process ended"]
Row = tuple[str, str, str, int, str, str, str]  # number, kind, name, seed, status, mistake, hint
Key = tuple[str, str, str, int]


class GoesOn(Exception):
    """An answer goes on in a thread of this process, which is to end."""


def answers(exercise: Exercise) -> Iterator[tuple[str, str, Function]]:
    """All answers: the kind, the name, and the function."""
    yield "reference", "", exercise.reference
    yield "stub", "", stub(exercise)
    for answer in exercise.wrong:
        yield "wrong", answer.name, answer.function
    for at, right in enumerate(right_answers(exercise.number)):
        yield "right", f"{right.__name__} {at}", right
    for mutant in mutants(exercise.reference):
        yield "mutant", *mutant


def rows(exercise: Exercise, behind: int) -> Iterator[Row | None]:
    """What each answer is told. behind: so many answers are not asked. None: the next one begins.

    Raises GoesOn behind a mutant that has not come to an end.
    """
    table = Table(exercise)
    for at, (kind, name, function) in enumerate(answers(exercise)):
        if at < behind:
            continue
        yield None
        table.limit = (MUTANT_LIMIT if kind == "mutant" else LIMIT)[exercise.framework]
        for seed in SEEDS:
            found = table.verdict(function, seed)
            hint = plain(found.hint)
            yield exercise.number, kind, name, seed, found.status, found.mistake, hint
            if kind == "mutant" and table.unended(function):
                raise GoesOn


def plain(hint: str) -> str:
    """A hint without what differs from run to run, and from file to file: where its code stands."""
    hint = re.sub(r"0x[0-9a-f]{6,}", "0x…", hint)
    return re.sub(r"\b(line|lines) \d+", r"\1 …", hint)


def asked(number: str) -> list[Row]:
    """The rows of one exercise, of as many processes as it takes."""
    found: list[Row] = []
    begun = 0
    while True:
        command = [sys.executable, "-m", __spec__.name, "one", number, str(begun)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            if not line.startswith("["):
                continue
            row = json.loads(line)
            begun += not row
            found += [tuple(row)] if row else []
        if done.returncode == 0:
            return found
        if done.returncode != GOES_ON:
            if not begun:
                raise RuntimeError(f"{number}: {done.stderr[-2000:]}")
            found.append((number, "ended", f"answer {begun}", 0, *ENDED))  # type: ignore[arg-type]


def one(number: str, behind: int) -> None:
    """Print the rows of an exercise, in this process."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    out = os.fdopen(os.dup(1), "w", buffering=1)  # what answers print goes elsewhere
    os.dup2(2, 1)
    try:
        for row in rows(find(number), behind):
            out.write(json.dumps(row or [], ensure_ascii=False) + "\n")
    except GoesOn:
        os._exit(GOES_ON)


def of(names: Sequence[str]) -> list[str]:
    """The exercises of lessons and numbers; all where none is named."""
    numbers = [exercise.number for exercise in everything()]
    return [n for n in numbers if not names or n in names or n[:2] in names]


def recorded(names: Sequence[str]) -> list[Row]:
    """The rows of some exercises, two at a time."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [row for each in pool.map(asked, of(names)) for row in each]


def read(path: Path) -> dict[Key, tuple[str, str, str]]:
    """A table by answer and seed."""
    data = path.read_bytes()
    text = (lzma.decompress(data) if path.suffix == ".xz" else data).decode()
    table = [json.loads(line) for line in text.split("\n") if line]
    return {tuple(row[:4]): tuple(row[4:]) for row in table}  # type: ignore[misc]


def write(path: Path, table: Sequence[Row]) -> None:
    """A row a line."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table)
    path.write_bytes(lzma.compress(text.encode()) if path.suffix == ".xz" else text.encode())


def differences(
    before: dict[Key, tuple[str, str, str]], after: dict[Key, tuple[str, str, str]]
) -> Iterator[str]:
    """What an answer is told now that it was not told, or not in these words."""
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key), after.get(key)
        if was != now:
            number, kind, name, seed = key
            yield f"{number} {kind} {name!r}, seed {seed}:\n  - {was}\n  + {now}"


def passing(table: dict[Key, tuple[str, str, str]]) -> Iterator[str]:
    """The mutants that pass on every seed."""
    names = {key[:3] for key in table if key[1] == "mutant"}
    for name in sorted(names):
        told = [table.get((*name, seed)) for seed in SEEDS]
        if all(one is not None and one[0] == "passed" for one in told):
            yield f"{name[0]} {name[2]}"


def main(arguments: Sequence[str]) -> int:
    """Exit status 1 where something differs."""
    doing, file, *names = arguments
    if doing == "one":
        one(file, int(names[0]))
        return 0
    if doing == "passing":
        print(*passing(read(Path(file))), sep="\n")
        return 0
    found = recorded(names)
    if doing == "record":
        write(Path(file), found)
        print(f"{len(found)} rows of {len(of(names))} exercises.")
        return 0
    numbers = set(of(names))
    before = {key: told for key, told in read(Path(file)).items() if key[0] in numbers}
    now = {row[:4]: row[4:] for row in found}
    said = list(differences(before, now))
    print(*said, f"{len(said)} differences in {len(now)} rows.", sep="\n")
    return min(len(said), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
