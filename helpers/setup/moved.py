"""An environment that was moved or copied: is it whole, and what in it names its old place?"""

from __future__ import annotations

import csv
import os
from pathlib import Path

from helpers.setup import places

SHEBANG_MAX = 127  # bytes of a script's first line that every Linux reads
EXEC = "'''exec' "  # second line of the scripts that pip writes where the first would not do


def is_whole(site: Path) -> bool:
    """Whether all files that the installed packages list are there, in their recorded size.

    A copy that was cut off starts and imports much of what it should, and fails later.
    """
    records = list(site.glob("*.dist-info/RECORD"))
    return bool(records) and all(_files_are_there(site, record) for record in records)


def _files_are_there(site: Path, record: Path) -> bool:
    with record.open(encoding="utf-8", newline="") as file:
        for name, _, size in csv.reader(file):
            if name.startswith("..") or not size:  # scripts, which are rewritten; byte code
                continue
            try:
                if os.stat(site / name).st_size != int(size):
                    return False
            except OSError:
                return False
    return True


def rewrite_scripts(environment: Path, old: Path) -> None:
    """Let the commands of an environment start its own Python, not the one of the old place."""
    for script in places.scripts(environment).iterdir():
        if script.is_symlink() or not script.is_file():
            continue
        try:
            text = script.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # a program
            continue
        if body := _without_launcher(text, old):
            new = script.with_name(f"{script.name}.new")
            new.write_text(launcher(places.python(environment)) + body, encoding="utf-8")
            new.chmod(script.stat().st_mode)
            os.replace(new, script)


def _without_launcher(text: str, old: Path) -> str | None:
    """A Python script without the lines that name the old environment; None for other files."""
    first, _, rest = text.partition("\n")
    if first.startswith(f"#!{old}{os.sep}"):
        return rest
    second, _, after = rest.partition("\n")
    if first == "#!/bin/sh" and second.startswith(
        (f'{EXEC}"{old}{os.sep}', f"{EXEC}{old}{os.sep}")
    ):
        return after.partition("\n")[2]
    return None


def launcher(python: Path) -> str:
    """The first lines of a script for this interpreter, as pip writes them."""
    line = f"#!{python}\n"
    if " " not in line and len(line.encode()) <= SHEBANG_MAX:
        return line
    return f'#!/bin/sh\n{EXEC}"{python}" "$0" "$@"\n\' \'\'\'\n'
