"""Commands that write where the user says: `./course release` and `site`.

`./course` works in the project's folder, the user may not.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import click

from helpers.course.setup.places import ROOT

SITE = ROOT / "site"  # ignored by git


def typed(path: str) -> Path:
    """A path relative to where `./course` was called (it leaves that in COURSE_FROM)."""
    return Path(os.environ.get("COURSE_FROM") or ".", path).absolute()


@contextlib.contextmanager
def told_in_a_sentence(path: Path) -> Iterator[None]:
    """Say what is wrong with what was typed, and why nothing can be written: a full disk, say."""
    try:
        yield
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        why = f"{error.filename or path}: {error.strerror or error}. Nothing was written; "
        raise click.ClickException(f"{why}name another place with --out.") from None


def release(lesson: str, out: str) -> int:
    """Make the ZIP of a lesson; returns the exit status."""
    from helpers.grade.release import release as make

    path = typed(out)
    with told_in_a_sentence(path):
        files = make(lesson.zfill(2), path)
    told = f"{path} holds lesson {lesson.zfill(2)}, in {len(files)} files"
    click.echo(f"{told}; nothing in it is an answer.")
    return 0


def site(out: str) -> int:
    """Make the site; returns the exit status. out: "" for `site` in the course's own folder."""
    from helpers.course.site import build_site

    path = typed(out) if out else SITE
    with told_in_a_sentence(path):
        pages = build_site(path)
    click.echo(f"{pages} pages are made. Open {path / 'index.html'} in a browser.")
    return 0
