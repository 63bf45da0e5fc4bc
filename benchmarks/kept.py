"""Kept figures: a file for each benchmark, in a folder for each machine that measured.

The folder's name is made of what the hardware is. Figures of the course itself are in
`benchmarks/results`; those of whoever measures lie in the user's cache folder, so that the checkout
stays as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.report import Report, from_json, machine
from helpers.course.setup import places

REPOSITORY = Path(__file__).parent / "results"
SHOWN = "amd-epyc-2-cores"  # the machine whose figures the README and docs/benchmarks.md show
_NOISE = re.compile(r"\((?:r|tm)\)|\b(?:processor|cpu)\b|\d+-core\b|@.*", re.IGNORECASE)


def machine_name(found: Mapping[str, Any]) -> str:
    """A folder's name for a machine: processor, cores that may be used, GPUs.

    found: as `report.machine` describes it. Example: "amd-epyc-7b13-8-cores-2-nvidia-h200".
    """
    words = [_NOISE.sub("", found["processor"]), f"{found['cores']} cores"]
    for gpu in sorted(set(found["gpus"])):
        count = found["gpus"].count(gpu)
        words.append(gpu if count == 1 else f"{count} {gpu}")
    return "-".join(re.findall("[a-z0-9]+", " ".join(words).lower()))


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

    def load(self, name: str) -> Report | None:
        """What is kept of a benchmark; None where nothing is.

        Raises ValueError with a sentence where the file holds something else.
        """
        path = self.path(name)
        try:
            found = from_json(path.read_text(encoding="utf-8"))
            if found.name != name or not found.machine:
                raise ValueError("it is of something else")
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{path} does not hold figures of the benchmark {name} ({error}): delete it, or "
                f"measure again with ./course bench {name}."
            ) from None
        return found

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of some benchmarks of which nothing is kept that can be read."""
        return [name for name in names if not self._holds(name)]

    def _holds(self, name: str) -> bool:
        try:
            return self.load(name) is not None
        except ValueError:
            return False


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
