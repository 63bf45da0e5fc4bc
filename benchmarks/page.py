"""What the README and docs/benchmarks.md show of kept figures, between markers in their text.

A block begins with `<!-- figures: WHAT -->` and ends with `<!-- end -->`. WHAT is one of `BLOCKS`,
a picture's path, a benchmark, or "NAME on MACHINE". The text around the blocks is written by hand,
and has no figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks import figure, table
from benchmarks.goals import PARTS
from benchmarks.kept import REPOSITORY, SHOWN, Store
from benchmarks.report import Report, Row, describe, in_words
from benchmarks.run import NAMES
from benchmarks.selection import SELECTED, Selection
from helpers.course.setup.places import ROOT

PAGES = (ROOT / "README.md", ROOT / "docs" / "benchmarks.md")
BLOCK = re.compile(r"(<!-- figures: ([^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def write_all() -> list[Path]:
    """Draw the pictures and write the pages' blocks anew. Returns what was written."""
    store = Store(REPOSITORY, SHOWN)
    written = [figure.draw(store, picture) for picture in figure.PICTURES]
    for path in PAGES:
        path.write_text(rendered(path.read_text(encoding="utf-8"), store), encoding="utf-8")
    return [*written, *PAGES]


def rendered(text: str, store: Store) -> str:
    """A page with its blocks made of what is kept. Raises ValueError for an unknown block."""
    return BLOCK.sub(lambda found: f"{found[1]}{block(found[2], store)}\n{found[3]}", text)


def block(what: str, store: Store) -> str:
    """The Markdown of one block."""
    if what in BLOCKS:
        return BLOCKS[what](store)
    if Path(what).name in figure.PICTURES:
        return picture(what, store)
    name, _, machine = what.partition(" on ")
    if name not in NAMES:
        raise ValueError(f"There is no block {what!r}: give a benchmark, or one of {[*BLOCKS]}.")
    return of_benchmark(name, Store(store.folder, machine or store.machine))


def short_goals(store: Store) -> str:
    """The README's table: a line a part."""
    lines = table.table(figure.processor(store), "reached (to reach)")
    found = table.evaluate(store)
    for part in PARTS:
        if not part.benchmark:
            continue
        cells = []
        for one in (one for one in found if one.part is part):
            figures = table.figures(one.values, one.goal.unit) if one.values else one.verdict
            missed = ", **not met**" if one.met is False else ""
            cells.append(f"{one.goal.what}: {figures} ({table.target(one.goal)}){missed}")
        lines.append(f"| {part.what} | {'<br>'.join(cells)} |")
    return "\n".join(lines)


def goals(store: Store) -> str:
    """Every goal with its verdict, then why some are not met or not measured."""
    return table.of_goals(table.evaluate(store), linked=True)


def benchmarks(store: Store) -> str:
    """The benchmarks that there are."""
    lines = table.table("`./course bench …`", "what is measured")
    return "\n".join([*lines, *(f"| [{n}](#{n}) | {b.beside} |" for n, b in NAMES.items())])


def machine(store: Store) -> str:
    """The machine of the figures, in a sentence."""
    return f"These figures are of one machine: {table.where(store)}."


def picture(source: str, store: Store) -> str:
    """A picture with its words. source: its path from the page."""
    return f'<img src="{source}" width="620" alt="{figure.alt(store, Path(source).name)}">'


def of_benchmark(name: str, store: Store) -> str:
    """What a benchmark found: on what, the times that its selection names, what was held."""
    kept = store.load(name)
    if kept is None:
        return "It is not measured yet on this machine."
    selection = SELECTED.get(name, Selection())
    parts = [measured(kept, store), times(kept, selection), held(kept, name, selection)]
    return "\n\n".join(part for part in parts if part)


def measured(kept: Report, store: Store) -> str:
    """When, in what time and with which torch, in a line; and where, if it is another machine."""
    when = f"on {kept.measured[:10]}" if kept.measured else "on a day that its file does not tell"
    took = f" in {kept.took_s / 60:.0f} min" if kept.took_s else ""
    found = kept.machine or {}
    what = describe(found) if store.machine != SHOWN else f"torch {found['versions']['torch']}"
    return f"Measured {when}{took}; {what}."


def times(kept: Report, selection: Selection) -> str:
    """A line a case: the medians of its contenders."""
    cases: dict[str, list[Row]] = {}
    for row in kept.rows:
        if re.fullmatch(selection.cases, row.case):
            cases.setdefault(row.case, []).append(row)
    if not cases:
        return ""
    lines = table.table("case", "medians", "runs")
    for case, rows in cases.items():
        medians = " · ".join(f"{row.name}: {in_words(row.median_s)}" for row in rows)
        counts = sorted({row.repeats for row in rows})
        runs = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        lines.append(f"| {case} | {medians} | {runs} |")
    return "\n".join(lines)


def held(kept: Report, name: str, selection: Selection) -> str:
    """What was held against a target: goals, what the selection names, and whatever is missed."""
    wanted = [goal for part in PARTS if part.benchmark == name for goal in part.goals]
    for label, claims in selection.held:
        found = [claim for claim in kept.claims if re.fullmatch(claims, claim.text)]
        if len({(claim.target, claim.at_least, claim.unit) for claim in found}) == 1:
            wanted.append(table.as_goal(label, claims, found[0]))
        else:  # each has a target of its own
            wanted += [table.as_goal(c.text, re.escape(c.text), c) for c in found]
    rest = [c for c in kept.claims if not any(re.fullmatch(g.claims, c.text) for g in wanted)]
    told = [table.Reached(PARTS[0], goal, tuple(kept.reached(goal))) for goal in wanted]
    told += [table.as_reached(claim) for claim in rest if not claim.met]
    lines = [f"| {one.cells} |" for one in told if one.values]
    met = sum(claim.met for claim in rest)
    more = f"\n\nFurther targets that are met: {met} of {len(rest)}." if rest else ""
    head = table.table("held against a target", "to reach", "reached", "")
    return "\n".join([*head, *lines]) + more if lines else more.strip()


BLOCKS: dict[str, Callable[[Store], str]] = {
    "short goals": short_goals,
    "goals": goals,
    "benchmarks": benchmarks,
    "machine": machine,
}
