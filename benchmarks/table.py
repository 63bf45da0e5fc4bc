"""The course's goals beside what is kept: part by part, what to reach and what was reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.goals import PARTS, Goal, Part
from benchmarks.kept import Kept, Store
from benchmarks.report import describe

NOT_YET = "It is not measured yet."
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Reached(NamedTuple):
    """One goal and its figures. values: of every claim that belongs to it; why: where none does.

    busy: what is noted where the machine had other things to do.
    """

    part: Part
    goal: Goal
    values: tuple[float, ...]
    why: str = ""
    busy: str = ""

    @property
    def met(self) -> bool | None:
        """Whether all figures reach the target; None where there is none."""
        if not self.values:
            return None
        goal = self.goal
        return all(v >= goal.target if goal.at_least else v <= goal.target for v in self.values)

    @property
    def verdict(self) -> str:
        """ "met", "not met" or "not measured"."""
        return {True: "met", False: "not met", None: "not measured"}[self.met]


def evaluate(store: Store, why: Mapping[str, str] | None = None) -> list[Reached]:
    """Every goal of every part. why: sentences for benchmarks that measured nothing."""
    found = []
    for part in PARTS:
        try:
            kept, problem = (store.load(part.benchmark) if part.benchmark else None), ""
        except ValueError as error:
            kept, problem = None, str(error)
        for goal in part.goals:
            values = tuple(kept.reached(goal)) if kept else ()
            reason = problem or part.elsewhere or (why or {}).get(part.benchmark) or NOT_YET
            if kept:
                reason = " ".join(kept.data["notes"]) or "This machine has not what it needs."
            busy = kept.busy if kept else ""
            found.append(Reached(part, goal, values, "" if values else reason, busy))
    return found


def target(goal: Goal) -> str:
    """What is to be reached. Example: "≥ 15×"."""
    return f"{'≥' if goal.at_least else '≤'} {number(goal.target)}{goal.unit}"


def figures(values: Sequence[float], unit: str) -> str:
    """One figure, or the range of several. Example: "1.53 to 2.49×"."""
    low, high = number(min(values)), number(max(values))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def number(value: float) -> str:
    """Three digits of it. Examples: "1.05", "1234", "3 · 10⁻⁹"."""
    if 0 < value < 1e-4:
        digits, _, power = f"{value:.0e}".partition("e-")
        return f"{digits} · 10⁻{power.lstrip('0').translate(RAISED)}"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def as_dict(found: Sequence[Reached], store: Store) -> dict[str, Any]:
    """The table for JSON."""
    return {
        "machine": store.machine,
        "goals": [
            {
                "part": one.part.what,
                "goal": one.goal.what,
                "target": one.goal.target,
                "at_least": one.goal.at_least,
                "unit": one.goal.unit.strip(),
                "values": one.values,
                "met": one.met,
                "benchmark": one.part.benchmark or None,
                "why": one.why or (one.goal.limit if one.met is False else ""),
            }
            for one in found
        ],
    }


def show(found: Sequence[Reached], store: Store) -> None:
    """Print the table, then why figures are missing or goals are not met."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table

    console = Console()
    console.print("\n[bold]What the course's parts must reach[/bold]")
    console.print(where(store), style="dim", highlight=False)
    shown = Table("part and its benchmark", box=None, pad_edge=False, header_style="bold")
    for column in ("to reach", "reached"):
        shown.add_column(column, justify="right", no_wrap=True)
    shown.add_column("", no_wrap=True)
    colours = {True: "green", False: "red", None: "yellow"}
    last = None
    for one in found:
        if one.part is not last:
            shown.add_row(f"{one.part.what} [dim]{one.part.benchmark}[/dim]")
            last = one.part
        reached = figures(one.values, one.goal.unit) if one.values else "–"
        verdict = f"[{colours[one.met]}]{one.verdict}[/{colours[one.met]}]"
        shown.add_row(Padding(one.goal.what, (0, 0, 0, 2)), target(one.goal), reached, verdict)
    console.print(shown)
    for reason in reasons(found):
        console.print(f"· {reason}", style="dim", highlight=False, markup=False)
    met = [one.met for one in found]
    console.print(
        f"{met.count(True)} of {len(met)} goals are met, {met.count(False)} are not met, "
        f"{met.count(None)} are not measured here."
    )


def reasons(found: Sequence[Reached]) -> list[str]:
    """Sentences: of each part whose figures are missing why, of each goal that is not met why."""
    said = []
    for one in found:
        if one.why:
            said.append(f"{one.part.what}: {one.why}")
        elif one.met is False:
            limit = one.goal.limit or "docs/benchmarks.md says what it depends on."
            said.append(f"{one.part.what}, {one.goal.what}: {limit} {one.busy}".strip())
    return list(dict.fromkeys(said))


def where(store: Store) -> str:
    """The machine of a store in a line, as the newest of its figures tells it."""
    kept: list[Kept] = []
    for name in [part.benchmark for part in PARTS if part.benchmark]:
        try:
            one = store.load(name)
        except ValueError:
            continue
        if one is not None:
            kept.append(one)
    if not kept:
        return f"{store.machine}, of which nothing is kept yet"
    dated = [one for one in kept if one.measured]
    newest = max(dated, key=lambda one: str(one.measured)) if dated else kept[0]
    return describe(newest.data["machine"])
