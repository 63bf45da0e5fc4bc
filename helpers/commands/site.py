"""`./course site`: what a maintainer types, and what they are told."""

from __future__ import annotations

from pathlib import Path

import click

from helpers.commands.paths import typed

HERE = Path(__file__).parents[2] / "site"  # ignored by git


def site(out: str) -> int:
    """Make the site; returns the exit status. Raises ClickException with a sentence.

    out: the folder as it was typed, "" for `site` in the course's own.
    """
    from helpers.instructor.site import build_site

    path = typed(out) if out else HERE
    try:
        pages = build_site(path)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:  # a full disk, a folder that cannot be written to
        why = f"{error.filename or path}: {error.strerror or error}. Name another folder by --out."
        raise click.ClickException(why) from None
    click.echo(f"{pages} pages are made. Open {path / 'index.html'} in a browser.")
    return 0
