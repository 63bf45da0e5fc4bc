"""The page that maps the chapter's exercises to this course's: its links lead somewhere, and what
they lead to is passed by the solutions."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import nbformat

SOLUTIONS = Path(__file__).parents[2] / "solutions"
CAPSTONE = "18_capstone.ipynb"


@cache
def cells(name: str) -> dict[str, Any]:
    return {cell.id: cell for cell in nbformat.read(SOLUTIONS / name, 4).cells}


def rows() -> dict[str, str]:
    """The rows of the table, by the number of the chapter's exercise."""
    lines = [re.match(r"\| (\d+) \|.*", line) for line in
             cells(CAPSTONE)["exercises"].source.splitlines()]  # fmt: skip
    return {found[1]: found[0] for found in lines if found}


def links() -> list[tuple[str, str, str]]:
    """The links: of each the exercise's number, the notebook and the heading."""
    found = re.findall(r"\[(\d\d\.\d+)\]\(([^#)]*)#([^)]+)\)", "\n".join(rows().values()))
    made = [(number, name or CAPSTONE, anchor) for number, name, anchor in found]
    return list(dict.fromkeys(made))


def test_all_ten_are_there_and_each_has_its_links_and_both_times() -> None:
    assert list(rows()) == [str(number) for number in range(1, 11)]
    for row in rows().values():
        assert re.search(r"\]\([^)]*#Exercise-", row), row
        assert all(len(cell.strip()) > 5 for cell in row.split("|")[2:-1]), row


def test_each_link_leads_to_an_exercise_that_the_solution_passes() -> None:
    for number, name, anchor in links():
        leads_to_what_passed(number, name, anchor)


def leads_to_what_passed(number: str, name: str, anchor: str) -> None:
    """Look at where a link leads."""
    headings = [
        line.lstrip("# ").replace(" ", "-")
        for cell in cells(name).values()
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
        if line.startswith("#")
    ]
    assert anchor in headings
    slug = number.replace(".", "-")
    check = cells(name)[f"check-{slug}"]
    assert f'helpers.check("{number}"' in check.source
    shown = "".join(str(o.get("data", {}).get("text/plain", "")) for o in check.outputs)
    assert f"✓ Exercise {number}" in shown and ": passed" in shown
