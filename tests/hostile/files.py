"""Files to grade: tampered, strange, broken, huge, linked, without end; each with its grade.

Each builder fills a folder and returns the path to grade.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from hostile.submission import LESSONS, notebook, right, wrong

NAME = f"{LESSONS['02']}.ipynb"
ANSWERS = ("scatter", "fit")


@dataclass(frozen=True)
class File:
    """A file to grade. full: functions with all their points. noted: whether it is unreadable."""

    name: str
    build: Callable[[Path], Path]
    full: tuple[str, ...] = ANSWERS
    noted: bool = False


def right_ones() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(nbformat.writes(notebook([right(f) for f in ANSWERS])))
    return made


def write(folder: Path, content: Any, name: str = NAME) -> Path:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    (folder / name).write_bytes(text)
    return folder / name


def tampered_metadata(folder: Path) -> Path:
    """Grade cells with points of their own, another kernel, other languages, other schemes."""
    made = right_ones()
    made["metadata"] = {
        "kernelspec": {"name": "/bin/sh -c", "display_name": "<script>", "argv": ["touch", "/x"]},
        "language_info": {"name": "bash"},
        "nbgrader": {"score": 100, "max_score": 1},
        "course": {"points": 1e9, "passed": True},
    }
    marks = {"grade": True, "locked": True, "points": 1e9, "grade_id": "exercise-02-1"}
    for cell in made["cells"]:
        cell["metadata"] = {"nbgrader": {**marks, "schema_version": 3, "solution": True}}
        cell["outputs"] = [
            {"output_type": "error", "ename": "Passed", "evalue": "", "traceback": []}
        ]
        cell["execution_count"] = 10**9
    return write(folder, made)


def tampered_metadata_of_wrong_answers(folder: Path) -> Path:
    """The same beside wrong answers, with outputs that say that all is right."""
    made = json.loads(tampered_metadata(folder).read_text())
    for cell, function in zip(made["cells"], ANSWERS, strict=True):
        cell["source"] = wrong(function)
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "Passed. 2/2"}]
    return write(folder, made)


def cells_that_break_the_parser(folder: Path) -> Path:
    """Source that is nested deeper than Python's parser goes."""
    made = right_ones()
    sources = [
        "(" * 50_000,
        "-" * 100_000 + "1",
        "x" + ".x" * 50_000,
        "0" + "+0" * 100_000,
        "[" * 90 + "]" * 90,
        "%%" * 10_000,
        "if 1:\n" * 3000,
        "\\\n" * 100_000,
    ]
    extra = [{**made["cells"][0], "id": f"e{n}", "source": s} for n, s in enumerate(sources)]
    return write(folder, made | {"cells": extra + made["cells"]})


def magics_and_commands(folder: Path) -> Path:
    """What IPython would give to a shell."""
    made = right_ones()
    sources = [
        "!touch /tmp/hostile-shell",
        "%%bash\ntouch /tmp/hostile-bash",
        "%run /etc/passwd",
        "%load_ext hostile",
        "?fit",
        "x = !id",
        "%%time\ny = 1",
        "get_ipython().kernel.stop()",
    ]
    extra = [{**made["cells"][0], "id": f"e{n}", "source": s} for n, s in enumerate(sources)]
    return write(folder, made | {"cells": extra + made["cells"]})


def modules_beside(folder: Path) -> Path:
    """Modules that would be imported in place of the true ones, were the folder on the path."""
    text = "open('/tmp/hostile-beside', 'w').close()\nraise SystemExit('hostile')\n"
    for name in ("torch", "helpers", "sitecustomize", "usercustomize", "json", "nbformat", "numpy"):
        (folder / f"{name}.py").write_text(text)
    (folder / "hostile.pth").write_text("import torch\n")
    (folder / "jupyter_config.py").write_text(text)
    (folder / "conftest.py").write_text(text)
    return write(folder, right_ones())


def a_strange_name(folder: Path) -> Path:
    """A file whose name is markup, a formula and an option at once."""
    return write(folder, right_ones(), "--out=..;<script>alert(1)<\u2044script>\n=cmd|' !A0.ipynb")


def _many_cells() -> dict[str, Any]:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    many = [{**cell, "id": f"c{n}", "source": f"x{n} = {n}"} for n in range(100_000)]
    return {"cells": many + right_ones()["cells"]}


def _long_cell() -> dict[str, Any]:
    first, *others = right_ones()["cells"]
    source = ["x = '" + "y" * 10_000_000 + "'\n", *first["source"]]
    return {"cells": [{**first, "source": source}, *others]}


# Bytes, or what is changed in a notebook of right answers.
BROKEN: dict[str, Callable[[], Any]] = {
    "half a file": lambda: json.dumps(right_ones()).encode()[:-40],
    "brackets, a million deep": lambda: b"[" * 1_000_000,
    "small, and large in memory": lambda: (
        b'{"nbformat": 4, "cells": [' + b"[]," * 6_000_000 + b"[]]}"
    ),
    "cells of strange types": lambda: {
        "cells": [None, 7, {"cell_type": "code", "source": {"a": 1}}]
    },
    "a format of the future": lambda: {"nbformat": 99},
    "a hundred thousand cells": _many_cells,
    "a cell of ten million characters": _long_cell,
}


def broken(what: str) -> Callable[[Path], Path]:
    """What writes one of these."""

    def build(folder: Path) -> Path:
        made = BROKEN[what]()
        return write(folder, made if isinstance(made, bytes) else right_ones() | made)

    return build


def huge(folder: Path) -> Path:
    """A file of a terabyte that takes no room."""
    path = write(folder, right_ones())
    os.truncate(path, 2**40)
    return path


def a_link_to_a_secret(folder: Path) -> Path:
    """A link out of the folder."""
    (folder / NAME).symlink_to("/etc/passwd")
    return folder / NAME


def a_pipe(folder: Path) -> Path:
    """A pipe that nobody ever writes to."""
    os.mkfifo(folder / NAME)
    return folder / NAME


def a_folder(folder: Path) -> Path:
    """A folder with a notebook's name."""
    (folder / NAME).mkdir()
    return folder / NAME


def a_device(folder: Path) -> Path:
    """A file that has no end."""
    return Path("/dev/zero")


FILES: list[File] = [
    File("tampered metadata", tampered_metadata),
    File("tampered metadata, wrong answers", tampered_metadata_of_wrong_answers, full=()),
    *(
        File(build.__name__.replace("_", " "), build)
        for build in (
            cells_that_break_the_parser,
            magics_and_commands,
            modules_beside,
            a_strange_name,
        )
    ),
    *(File(what, broken(what), full=(), noted=True) for what in BROKEN),
    *(
        File(build.__name__.replace("_", " "), build, full=(), noted=True)
        for build in (
            huge,
            a_link_to_a_secret,
            a_pipe,
            a_folder,
            a_device,
        )
    ),
]
