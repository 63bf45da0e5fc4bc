"""Kept figures: a file for each benchmark, in a folder for each machine that measured.

The folder's name is made of what the hardware is. Figures of the course itself are in
`benchmarks/results`; those of whoever measures lie in the user's cache folder, so that the checkout
stays as it is.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.goals import Goal
from benchmarks.report import Claim, Report, machine
from helpers.course.setup import places

REPOSITORY = Path(__file__).parent / "results"
SHOWN = "amd-epyc-2-cores"  # the machine whose figures the README and docs/benchmarks.md show
BUSY = "The machine was busy"  # how a note begins that says so
_NOISE = re.compile(r"\((?:r|tm)\)|\b(?:processor|cpu)\b|\d+-core\b|@.*", re.IGNORECASE)


def machine_name(found: Mapping[str, Any]) -> str:
    """A folder's name for a machine: processor, cores that may be used, GPUs.

    found: as `report.machine` describes it. Example: "amd-epyc-7b13-8-cores-2-nvidia-h200".
    """
    words = [_NOISE.sub("", found["processor"]), f"{found['cores']} cores"]
    for gpu in sorted(set(found["gpus"])):
        count = found["gpus"].count(gpu)
        words.append(gpu if count == 1 else f"{count} {gpu}")
    return slug(" ".join(words))


def slug(words: str) -> str:
    """Words as a part of a path. Example: slug("NVIDIA H200 (NVL)") is "nvidia-h200-nvl"."""
    return "-".join(re.findall("[a-z0-9]+", words.lower()))


@dataclass(frozen=True)
class Kept:
    """What one benchmark found, read from its file. data: `Report.as_dict`."""

    data: dict[str, Any]

    @property
    def claims(self) -> list[Claim]:
        """What was held against a target."""
        names = ("text", "value", "target", "at_least", "unit")
        return [Claim(**{name: claim[name] for name in names}) for claim in self.data["claims"]]

    @property
    def measured(self) -> datetime | None:
        """When it was measured; None where an older file does not tell."""
        said = self.data.get("measured")
        return datetime.fromisoformat(said) if said else None

    @property
    def took(self) -> float | None:
        """Seconds of the whole benchmark; None where an older file does not tell."""
        return self.data.get("took_s") or None

    @property
    def busy(self) -> str:
        """The note that other programs ran beside the benchmark; "" where none did."""
        return next((note for note in self.data["notes"] if note.startswith(BUSY)), "")

    def rows(self, case: str) -> list[dict[str, Any]]:
        """The rows of one case, in their order."""
        return [row for row in self.data["rows"] if row.get("case") == case]

    def seconds(self, case: str, name: str) -> float:
        """A contender's median. Raises KeyError where it was not measured."""
        for row in self.rows(case):
            if row["name"] == name:
                return float(row["median_s"])
        raise KeyError(f"{name} was not measured in the case {case}.")

    def reached(self, goal: Goal) -> list[float]:
        """What the claims say that belong to a goal; none where nothing of it was measured."""
        return [c.value for c in self.claims if re.fullmatch(goal.claims, c.text)]


@dataclass(frozen=True)
class Store:
    """The figures of one machine under a folder."""

    folder: Path
    machine: str

    def path(self, name: str) -> Path:
        """The file of a benchmark."""
        return self.folder / self.machine / f"{name}.json"

    def keep(self, report: Report) -> Path:
        """Write a report into its file, whole or not at all. Returns where it is."""
        path = self.path(report.name)
        write(path, report.json() + "\n")
        return path

    def load(self, name: str) -> Kept | None:
        """What is kept of a benchmark; None where nothing is.

        Raises ValueError with a sentence where the file holds something else.
        """
        path = self.path(name)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["name"] != name or not {"machine", "rows", "claims", "notes"} <= data.keys():
                raise ValueError("it is of something else")
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{path} does not hold figures of the benchmark {name} ({error}): delete it, or "
                f"measure again with ./course bench {name}."
            ) from None
        return Kept(data)

    def missing(self, names: Mapping[str, Any]) -> list[str]:
        """Those of some benchmarks that are not kept, or not since they were asked for again."""
        return [name for name in names if not self._counts(name)]

    def ask_again(self) -> None:
        """From now on, only what is measured from now on counts."""
        write(self._since, f"{now()}\n")

    def _counts(self, name: str) -> bool:
        try:
            kept = self.load(name)
        except ValueError:
            return False
        if kept is None or not self._since.exists():
            return kept is not None
        since = datetime.fromisoformat(self._since.read_text(encoding="utf-8").strip())
        return kept.measured is not None and kept.measured >= since

    @property
    def _since(self) -> Path:
        which = "repository" if self.folder == REPOSITORY else "own"
        return own() / self.machine / f"{which}.since"


def own() -> Path:
    """The folder of the user's own figures; it need not exist yet."""
    return places.cache() / "benchmarks"


def store(repository: bool) -> Store:
    """This machine's figures: in the repository, or the user's own."""
    return Store(REPOSITORY if repository else own(), machine_name(machine()))


def now() -> str:
    """This moment, to the microsecond, as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat()


def write(path: Path, text: str) -> None:
    """Write a file so that whoever reads it finds all of it or what was there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part-{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
