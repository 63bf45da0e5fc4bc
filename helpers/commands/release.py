"""`./course release`: what the instructor types, and what they are told."""

from __future__ import annotations

import os
from pathlib import Path

import click

from helpers.commands.paths import typed


def release(lesson: str, out: str) -> int:
    """Make the ZIP of a lesson; returns the exit status. Raises ClickException with a sentence."""
    from helpers.instructor.release import release as make

    path = typed(out)
    why = _not_a_place(path)
    if why:
        raise click.ClickException(why)
    try:
        files = make(lesson.zfill(2), path)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:  # a full disk, a file that is not there
        why = f"{error.filename or path}: {error.strerror or error}. Nothing was written."
        raise click.ClickException(why) from None
    told = f"{path} holds lesson {lesson.zfill(2)}, in {len(files)} files"
    click.echo(f"{told}; nothing in it is an answer.")
    return 0


def _not_a_place(path: Path) -> str:
    """Why a ZIP cannot be written there and what to do, "" where it can. Looked at first, since
    making it takes seconds."""
    folder = path.parent
    if path.is_dir():
        return f"{path} is a folder; name the file to write with --out, such as {path / 'x.zip'}."
    if not folder.is_dir():
        lack = "is not a folder" if folder.exists() else "is not there"
        return f"The folder {folder} {lack}; make it, or name a file elsewhere with --out."
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"The folder {folder} cannot be written to; name a file elsewhere with --out."
    return ""
