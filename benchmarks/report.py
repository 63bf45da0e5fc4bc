"""What a benchmark found: times, claims held against targets, the machine; as JSON and back."""

from __future__ import annotations

import json
import platform
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers.course.setup.machine import usable_cores

if TYPE_CHECKING:
    from benchmarks.goals import Goal

PACKAGES = (
    *("torch", "tensorflow", "horovod", "accelerate", "nbgrader", "numpy", "simpy", "torchao"),
    *("optuna", "gymnasium"),
)
BUSY = "The machine was busy"  # how a note begins that says so


@dataclass(frozen=True)
class Row:
    """One contender in one case, in seconds: the median of the repeats, and their quartiles.

    A quarter of the repeats took less than the first, a quarter more than the second. note: what
    to know about it.
    """

    case: str
    name: str
    median_s: float
    quartiles_s: Sequence[float]
    repeats: int
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """A figure beside its target. at_least: whether more is better."""

    text: str
    value: float
    target: float
    at_least: bool
    unit: str = "×"

    @property
    def met(self) -> bool:
        """Whether the target is reached."""
        return self.value >= self.target if self.at_least else self.value <= self.target


@dataclass
class Report:
    """All that one benchmark found on one device.

    device: the name of the GPU that it was found on; None where it was the CPU. points: what stands
    among the rows and is no time. extra: what is neither a time nor a claim, such as a timeline.
    measured: when it began, as ISO 8601; "" where an older file does not tell. took_s: seconds of
    the whole benchmark. machine: None is this one.
    """

    name: str
    title: str = ""
    rows: list[Row] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    device: str | None = None
    points: list[dict[str, Any]] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    measured: str = ""
    took_s: float = 0.0
    machine: dict[str, Any] | None = None

    def add(self, case: str, name: str, seconds: Sequence[float], note: str = "") -> Row:
        """Add a contender's times, of every repeat."""
        middle, quartiles = statistics.median(seconds), [seconds[0]] * 2
        if len(seconds) > 1:
            low, _, high = statistics.quantiles(seconds, n=4, method="inclusive")
            quartiles = [low, high]
        self.rows.append(Row(case, name, middle, quartiles, len(seconds), note))
        return self.rows[-1]

    def median(self, case: str, name: str) -> float:
        """A contender's median in a case. Raises KeyError where it was not measured."""
        for row in self.rows:
            if (row.case, row.name) == (case, name):
                return row.median_s
        raise KeyError(f"{name} was not measured in the case {case}.")

    def claim(
        self, text: str, value: float, target: float, at_least: bool = True, unit: str = "×"
    ) -> None:
        """Hold a figure against its target."""
        self.claims.append(Claim(text, value, target, at_least, unit))

    def hold(self, goal: Goal, text: str, value: float) -> None:
        """Hold a figure against one of the course's goals, whose pattern the text matches."""
        self.claim(text, value, goal.target, goal.at_least, goal.unit)

    def reached(self, goal: Goal) -> list[float]:
        """What the claims say that belong to a goal; none where nothing of it was measured."""
        return [c.value for c in self.claims if re.fullmatch(goal.claims, c.text)]

    @property
    def busy(self) -> str:
        """The note that other programs ran beside the benchmark; "" where none did."""
        return next((note for note in self.notes if note.startswith(BUSY)), "")

    def json(self) -> str:
        """Everything as JSON. Times in seconds."""
        found: dict[str, Any] = {
            "name": self.name,
            "device": self.device,
            "measured": self.measured,
            "took_s": round(self.took_s, 1),
            "machine": self.machine or machine(),
            "rows": [*map(asdict, self.rows), *self.points],
            "claims": [{**asdict(claim), "met": claim.met} for claim in self.claims],
            "notes": self.notes,
        }
        if self.extra:
            found["extra"] = self.extra
        return json.dumps(found, indent=1, ensure_ascii=False)


def from_json(text: str) -> Report:
    """A report as it was. Raises ValueError, KeyError or TypeError where the text is of none."""
    data = json.loads(text)
    rows, claims = data.pop("rows"), data.pop("claims")
    return Report(
        **data,
        rows=[Row(**row) for row in rows if "case" in row],
        points=[row for row in rows if "case" not in row],
        claims=[Claim(**{k: v for k, v in claim.items() if k != "met"}) for claim in claims],
    )


# --- times ----------------------------------------------------------------------------------------


def slowest(ranks: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, list[float]]:
    """Of every repeat, the time of the rank that took longest: the others wait for it."""
    return {
        name: [max(times) for times in zip(*(rank[name] for rank in ranks), strict=True)]
        for name in ranks[0]
    }


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """How many times as long theirs takes: the median over the repeats, each beside the other."""
    return statistics.median(a / b for a, b in zip(theirs, ours, strict=True))


def in_words(seconds: float) -> str:
    """A time with a unit that suits it."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


# --- the machine ----------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """The machine and the versions that the figures hold for; nothing that names its owner."""
    import psutil

    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "processor": processor(),
        "cores": round(usable_cores()),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "gpus": gpus(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions,
    }


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def gpus() -> list[str]:
    """The names of the GPUs that torch sees."""
    import torch

    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def describe(found: Mapping[str, Any]) -> str:
    """A machine in one line."""
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    accelerators = ", ".join(found["gpus"]) or "no GPU"
    return (
        f"{found['processor']}, {found['cores']} cores, {found['memory_gb']} GB, {accelerators}, "
        f"{found['system']}; {versions}"
    )
