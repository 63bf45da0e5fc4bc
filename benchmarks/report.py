"""What a benchmark found: times, claims held against targets, the machine; as a table or JSON."""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers.course.setup.machine import usable_cores

if TYPE_CHECKING:
    from rich.console import Console

    from benchmarks.goals import Goal

PACKAGES = (
    "torch",
    "tensorflow",
    "horovod",
    "accelerate",
    "nbgrader",
    "numpy",
    "simpy",
    "torchao",
    "optuna",
    "gymnasium",
)


@dataclass(frozen=True)
class Row:
    """One contender in one case. seconds: of every repeat. note: what to know about it."""

    case: str
    name: str
    seconds: tuple[float, ...]
    note: str = ""

    @property
    def median(self) -> float:
        """The median of the repeats, in seconds."""
        return statistics.median(self.seconds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """A quarter of the repeats took less than the first, a quarter more than the second."""
        if len(self.seconds) < 2:
            return self.median, self.median
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return low, high


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

    device: the name of the GPU that it was found on; None where it was the CPU.
    extra: what is neither a time nor a claim, such as a timeline, for JSON. measured: when it
    began, as ISO 8601. took: seconds of the whole benchmark.
    """

    name: str
    title: str
    rows: list[Row] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    device: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    measured: str = ""
    took: float = 0.0

    def add(self, case: str, name: str, seconds: Sequence[float], note: str = "") -> Row:
        """Add a contender's times."""
        row = Row(case, name, tuple(seconds), note)
        self.rows.append(row)
        return row

    def median(self, case: str, name: str) -> float:
        """A contender's median in a case. Raises KeyError where it was not measured."""
        for row in self.rows:
            if (row.case, row.name) == (case, name):
                return row.median
        raise KeyError(f"{name} was not measured in the case {case}.")

    def claim(
        self, text: str, value: float, target: float, at_least: bool = True, unit: str = "×"
    ) -> None:
        """Hold a figure against its target."""
        self.claims.append(Claim(text, value, target, at_least, unit))

    def hold(self, goal: Goal, text: str, value: float) -> None:
        """Hold a figure against one of the course's goals, whose pattern the text matches."""
        self.claim(text, value, goal.target, goal.at_least, goal.unit)

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON. Times in seconds."""
        return {
            "name": self.name,
            "device": self.device,
            "measured": self.measured,
            "took_s": round(self.took, 1),
            "machine": machine(),
            "rows": [
                {
                    "case": row.case,
                    "name": row.name,
                    "median_s": row.median,
                    "quartiles_s": row.quartiles,
                    "repeats": len(row.seconds),
                    "note": row.note,
                }
                for row in self.rows
            ],
            "claims": [{**asdict(claim), "met": claim.met} for claim in self.claims],
            "notes": self.notes,
        } | ({"extra": self.extra} if self.extra else {})

    def json(self) -> str:
        """Everything as JSON."""
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False)

    def show(self) -> None:
        """Print a table of the times, one of the claims, and the notes."""
        from rich.console import Console
        from rich.table import Table

        console = Console()
        console.print(f"\n[bold]{self.title}[/bold]")
        console.print(describe(machine()), style="dim")
        times = Table("case", "what", box=None, pad_edge=False, header_style="bold")
        times.add_column("median", justify="right")
        times.add_column("quartiles", justify="right")
        times.add_column("")
        last = None
        for row in self.rows:
            low, high = row.quartiles
            spread = f"{in_words(low)} to {in_words(high)}" if len(row.seconds) > 1 else "one run"
            case = row.case if row.case != last else ""
            times.add_row(case, row.name, in_words(row.median), spread, row.note)
            last = row.case
        console.print(times)
        self.show_claims(console)

    def show_claims(self, console: Console) -> None:
        """Print what is held against its target, and the notes."""
        from rich.table import Table

        held = Table("against its target", box=None, pad_edge=False, header_style="bold")
        held.add_column("measured", justify="right")
        held.add_column("target", justify="right")
        held.add_column("")
        for claim in self.claims:
            sign = "≥" if claim.at_least else "≤"
            verdict = "[green]met[/green]" if claim.met else "[red]not met[/red]"
            value, target = f"{claim.value:.3g}{claim.unit}", f"{sign} {claim.target:g}{claim.unit}"
            held.add_row(claim.text, value, target, verdict)
        console.print(held)
        for note in self.notes:
            console.print(f"· {note}", style="dim", highlight=False)


def in_words(seconds: float) -> str:
    """A time with a unit that suits it."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def machine() -> dict[str, Any]:
    """The machine and the versions that the figures hold for; nothing that names its owner."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "processor": processor(),
        "cores": round(usable_cores()),
        "memory_gb": memory_gb(),
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


def memory_gb() -> float:
    """Main memory in GB (10⁹ bytes)."""
    import psutil

    return round(psutil.virtual_memory().total / 1e9, 1)


def gpus() -> list[str]:
    """The names of the GPUs that torch sees."""
    import torch

    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def describe(found: dict[str, Any]) -> str:
    """A machine in one line."""
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    accelerators = ", ".join(found["gpus"]) or "no GPU"
    return (
        f"{found['processor']}, {found['cores']} cores, {found['memory_gb']} GB, {accelerators}, "
        f"{found['system']}; {versions}"
    )
