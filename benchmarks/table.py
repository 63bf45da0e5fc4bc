"""Tables in Markdown, for the terminal and for the pages: the course's goals, and a benchmark's.

The goals stand beside what is kept: part by part, what to reach and what was reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.goals import PARTS, Goal, Part
from benchmarks.kept import Store
from benchmarks.report import Claim, Report, describe, in_words, machine

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

    @property
    def cells(self) -> str:
        """What, to reach, reached, verdict. Figures do not break."""
        reached = figures(self.values, self.goal.unit) if self.values else "–"
        verdict = "**not met**" if self.met is False else self.verdict
        fixed = [text.replace(" ", "\u00a0") for text in (target(self.goal), reached, verdict)]
        return " | ".join([self.goal.what, *fixed])


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
                reason = " ".join(kept.notes) or "This machine has not what it needs."
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
    """The goals for JSON."""
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


def show(text: str) -> None:
    """Print Markdown."""
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def of_goals(found: Sequence[Reached], linked: bool = False) -> str:
    """Every goal with its verdict, then why some are not met or not measured.

    linked: whether the benchmarks' names lead to their sections, as on the page.
    """
    lines = table("part and its benchmark", "what", "to reach", "reached", "")
    last = None
    for one in found:
        part, name = "", one.part.benchmark
        if one.part is not last:
            shown = f" ([{name}](#{name}))" if linked else f" ({name})"
            part, last = one.part.what + shown * bool(name), one.part
        lines.append(f"| {part} | {one.cells} |")
    return "\n".join([*lines, "", *(f"- {reason}" for reason in reasons(found))])


def of_report(report: Report) -> str:
    """All that a benchmark found: every time, every claim, every note."""
    parts = [f"## {report.title}", describe(report.machine or machine())]
    times = table("case", "what", "median", "quartiles", "")
    for row in report.rows:
        low, high = map(in_words, row.quartiles_s)
        spread = f"{low} to {high}" if row.repeats > 1 else "one run"
        said = (row.case, row.name, in_words(row.median_s), spread, row.note)
        times.append(f"| {' | '.join(said)} |")
    points = table("series", "point", "ours", "published", "error", "allowed")
    for one in report.points:
        told = [one[key] for key in ("ours", "published", "error", "within")]
        words = ["–" if each is None else f"{each:.4g}" for each in told]
        points.append(f"| {one['series']} | {one['label']} | {' | '.join(words)} |")
    claims = table("held against a target", "to reach", "reached", "")
    claims += [f"| {as_reached(claim).cells} |" for claim in report.claims]
    parts += ["\n".join(lines) for lines in (times, points, claims) if len(lines) > 2]
    return "\n\n".join([*parts, "\n".join(f"- {note}" for note in report.notes)])


def as_reached(claim: Claim) -> Reached:
    """A claim as if it were a goal of its own."""
    return Reached(PARTS[0], as_goal(claim.text, "", claim), (claim.value,))


def as_goal(what: str, claims: str, claim: Claim) -> Goal:
    """A goal with a claim's target."""
    return Goal(what, claims, claim.target, claim.at_least, claim.unit)


def table(*names: str) -> list[str]:
    """The first lines of a table in Markdown."""
    return [f"| {' | '.join(names)} |".replace("|  |", "| |"), f"|{' --- |' * len(names)}"]


def reasons(found: Iterable[Reached]) -> list[str]:
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
    kept: list[Report] = []
    for name in (part.benchmark for part in PARTS if part.benchmark):
        try:
            kept += filter(None, [store.load(name)])
        except ValueError:
            continue
    if not kept:
        return f"{store.machine}, of which nothing is kept yet"
    newest = max(kept, key=lambda one: one.measured)
    return describe(newest.machine or {})
