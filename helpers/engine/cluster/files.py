"""The launchers' files of `cluster/`, filled in: what a user copies is what the engine submits."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from helpers.course.setup.places import ROOT

FOLDER = ROOT / "cluster"
NAMES = {"slurm": "run.slurm", "torchrun": "torchrun.sh", "horovod": "horovodrun.sh"}
TAKES = 'set -- "$@"'  # the line of a file that takes the command to run
_SBATCH = re.compile(r"^#SBATCH --.*\n", re.MULTILINE)

Value = str | int | bool | None


def template(launcher: str) -> str:
    """The text of the file for a launcher."""
    return (FOLDER / NAMES[launcher]).read_text(encoding="utf-8")


def filled(
    text: str,
    command: Sequence[str],
    sbatch: Mapping[str, Value] | None = None,
    exports: Mapping[str, str] | None = None,
) -> str:
    """A launcher's file with its settings set, and a command given to the line `set -- "$@"`.

    sbatch: #SBATCH lines by SLURM's names; True for one without a value, None for one to leave
    out. Those that the file has are changed in their places, others follow the last. exports: words
    of the shell, set before the first line that runs. Raises ValueError where the file takes no
    command.

    Example: `filled('#SBATCH --nodes=2\\nset -- "$@"\\nsrun python "$@"', ["a.py"], {"nodes": 3})`
    gives '#SBATCH --nodes=3\\nset -- a.py\\nsrun python "$@"'.
    """
    lines = with_sbatch(text, sbatch or {}).split("\n")
    if TAKES not in lines:
        raise ValueError(
            f"The launcher's file needs a line {TAKES}, which takes the command, as the files in "
            "cluster/ have it."
        )
    lines[lines.index(TAKES)] = f"set -- {shlex.join(command)}"
    at = next(n for n, line in enumerate(lines) if line and not line.startswith("#"))
    lines[at:at] = [f"export {name}={words}" for name, words in (exports or {}).items()]
    return "\n".join(lines)


def with_sbatch(text: str, options: Mapping[str, Value]) -> str:
    """The #SBATCH lines set."""
    for name, value in options.items():
        line = f"#SBATCH --{name}\n" if value is True else f"#SBATCH --{name}={value}\n"
        line = "" if value is None or value is False else line
        there = re.search(rf"^#SBATCH --{name}(=.*?)?([ \t]+#.*)?\n", text, re.MULTILINE)
        last = max((found.end() for found in _SBATCH.finditer(text)), default=text.find("\n") + 1)
        start, end = there.span() if there else (last, last)
        text = text[:start] + line + text[end:]
    return text
