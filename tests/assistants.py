"""What AGENTS.md names between backticks, and whether it is there."""

from __future__ import annotations

import inspect
import re

import helpers
from helpers.course import cli
from helpers.engine.trace import Results

MADE = {".venv/bin/python"}  # by set-up
OF_A_RUN = {f".{name}" for name in inspect.signature(Results).parameters}
SAID = OF_A_RUN | {".plot()", 'engine="virtual"'}


def not_there(text: str, files: set[str], commands: set[str]) -> list[str]:
    """The names in a text that stand for nothing. files, commands: those of a copy."""
    return [name for name in re.findall(r"`([^`]+)`", text) if not _there(name, files, commands)]


def _there(name: str, files: set[str], commands: set[str]) -> bool:
    if name.startswith("./course "):
        command, *options = name.split()[1:]
        known = [one for p in cli.course.commands[command].params for one in p.opts]
        return command in commands and {o for o in options if o.startswith("--")} <= {*known}
    if name.startswith("helpers."):
        return hasattr(helpers, name.partition(".")[2].partition("(")[0])
    folder = f"{name.rstrip('/')}/"
    return name in SAID | MADE | files or any(one.startswith(folder) for one in files)
