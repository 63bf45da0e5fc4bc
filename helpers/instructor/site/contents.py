"""What is on the site and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from helpers.instructor.build import notebooks

# The texts, by the captions that they stand under in the sidebar. What is not there is left out.
TEXTS: Mapping[str, tuple[str, ...]] = {
    "Beside the lessons": (
        *("docs/glossary.md", "docs/running.md", "docs/missing.md", "docs/benchmarks.md"),
    ),
    "For instructors": ("docs/instructors.md", "docs/hubs.md", "docs/sandbox.md"),
    "For maintainers": ("docs/maintainers.md", "CONTRIBUTING.md", "docs/tests.md"),
}
# Pages made of others: the start page of README.md, and all exercises.
START, EXERCISES = "index.md", "exercises.md"
FILES = ("LICENSE", "LICENSE-text", "CITATION.cff")  # to download
PICTURES = (".png", ".svg", ".jpg")


def sections(root: Path) -> dict[str, list[str]]:
    """The pages behind the start page, by caption, in the order in which they are read.

    Raises ValueError with a sentence for a text in docs/ that stands in no section.
    """
    named = {name for names in TEXTS.values() for name in names}
    for path in sorted((root / "docs").glob("*.md")):
        if f"docs/{path.name}" not in named:
            raise ValueError(
                f"docs/{path.name} is in no section of the site: give it a place in TEXTS of "
                "helpers/instructor/site/contents.py."
            )
    found = {
        caption: [name for name in names if (root / name).exists()]
        for caption, names in TEXTS.items()
    }
    lessons = [f"lessons/{path.name}" for path in notebooks(root / "lessons")]
    found["Beside the lessons"] = [EXERCISES, *found["Beside the lessons"]]
    return {"Lessons": lessons, **found}


def held(root: Path) -> set[str]:
    """What a link may lead to, as paths from the course's folder."""
    pages = {name for names in sections(root).values() for name in names}
    pictures = {f"docs/{p.name}" for p in (root / "docs").iterdir() if p.suffix in PICTURES}
    return {START, *pages, *pictures, *FILES}
