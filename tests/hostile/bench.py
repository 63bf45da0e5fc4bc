"""A bench on which submissions are graded: a slot in a process of its own, watched from here."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hostile.submission import NUMBERS, OVER, Attack, good

HANGS = 500.0  # seconds after which a grader that says nothing counts as dead
SEED = 20_26_11_21


class Bench:
    """One slot for many submissions.

    command: what stands before the interpreter, such as setpriv's words. home: HOME and TMPDIR of
    the slot. course: the folder that holds `helpers`.
    """

    def __init__(
        self, lesson: str, number: int, home: Path, course: Path, command: Sequence[str] = ()
    ) -> None:
        self.lesson, self.number, self.home, self.course = lesson, number, home, course
        self.command = list(command)
        self.beside = Path(__file__).parents[1]  # where this package is found
        self.slot: subprocess.Popen[str] | None = None
        self.graded = 0

    def grade(self, path: Path, name: str = "student", seed: int = SEED) -> dict[str, Any]:
        """What the slot says: the grade as JSON, its peak of memory, its open files.

        Fails where the slot ends or hangs, which no submission may cause.
        """
        slot = self._running()
        assert slot.stdin is not None and slot.stdout is not None
        line = json.dumps({"path": str(path), "submission": name, "seed": seed})
        print(line, file=slot.stdin, flush=True)
        if not select.select([slot.stdout], [], [], HANGS)[0]:
            self.close()
            raise AssertionError(f"The grader hangs on {name}.")
        answer = slot.stdout.readline()
        if not answer:
            code = slot.wait()
            self.slot = None
            raise AssertionError(f"The grader ended with {code} on {name}.")
        self.graded += 1
        told: dict[str, Any] = json.loads(answer)
        return told

    def submit(self, attack: Attack, folder: Path) -> dict[str, Any]:
        """Grade an attack and hold the grade against what it has to be."""
        return self.hold(attack, attack.write(folder))

    def next_student(self, folder: Path) -> None:
        """A right answer in the same slot has all its points."""
        next_one = good(self.lesson)
        self.hold(next_one, next_one.write(folder))

    def hold(self, attack: Attack, path: Path) -> dict[str, Any]:
        """Grade a file and hold the grade against what it has to be."""
        told = self.grade(path, attack.name)
        hold(attack, told["grade"])
        return told

    def _running(self) -> subprocess.Popen[str]:
        if self.slot is None:
            python = [sys.executable, "-m", "hostile.slot", self.lesson]
            paths = [str(self.course), str(self.beside)]
            environment = os.environ | {
                "HOME": str(self.home),
                "TMPDIR": str(self.home),
                "XDG_CONFIG_HOME": str(self.home / ".config"),
                "PYTHONPATH": os.pathsep.join(paths),
                "PYTHONDONTWRITEBYTECODE": "1",
                "COURSE_SECRET": "an environment that nobody may read",
            }
            self.slot = subprocess.Popen(
                [*self.command, *python, str(self.number)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
                cwd=self.home,
            )
        return self.slot

    def close(self) -> None:
        """End the slot by its input's end, or else by force."""
        slot, self.slot = self.slot, None
        if slot is None:
            return
        assert slot.stdin is not None
        slot.stdin.close()
        try:
            slot.wait(20)
        except subprocess.TimeoutExpired:
            slot.kill()
            slot.wait()


def hold(attack: Attack, grade: dict[str, Any]) -> None:
    """Hold a grade against what the attack has to get. Raises AssertionError with the grade."""
    by_number = {e["number"]: e for e in grade["exercises"]}
    full = {NUMBERS[f] for f in attack.full}
    full |= {NUMBERS[f] for f in attack.either if by_number[NUMBERS[f]]["points"]}
    for number, exercise in by_number.items():
        wanted = exercise["max"] if number in full else 0
        assert exercise["points"] == wanted, f"{number}: {exercise}"
        assert (exercise["outcome"] == "passed") == (number in full), f"{number}: {exercise}"
    assert full <= by_number.keys()
    for function in attack.finished:
        said = by_number[NUMBERS[function]]
        assert OVER in said["hint"] + said["reason"], f"{attack.name} was cut short: {said}"
    for function, outcomes in attack.outcomes.items():
        said = by_number[NUMBERS[function]]
        assert not outcomes or said["outcome"] in outcomes, f"{function}: {said}"
    json.dumps(grade, ensure_ascii=False).encode()  # no half of a surrogate pair


def processes_of(uid_from: int, uid_to: int) -> list[int]:
    """The processes of a range of user numbers."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                owner = entry.stat().st_uid
            except OSError:
                continue
            if uid_from <= owner < uid_to:
                found.append(int(entry.name))
    return found


def descendants(pid: int) -> set[int]:
    """A process and everything under it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found, new = set[int](), [pid]
    while new:
        found.update(new)
        new = [child for parent in new for child in children.get(parent, ())]
    return found


def ended(pids: set[int], within: float = 120.0) -> set[int]:
    """Those that are still there after a while; zombies that nobody has reaped do not count."""
    last = time.monotonic() + within
    while True:
        alive = {pid for pid in pids if _alive(pid)}
        if not alive or time.monotonic() > last:
            return alive
        time.sleep(0.05)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
