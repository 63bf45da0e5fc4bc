"""Files that are no honest notebooks: tampered, broken, huge, old, linked, with others beside.

Each builder makes a folder's content and returns the path to grade; what the grade has to be stands
beside it.
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


def _right() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(nbformat.writes(notebook([right(f) for f in ANSWERS])))
    return made


def _write(folder: Path, content: Any, name: str = NAME) -> Path:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    (folder / name).write_bytes(text)
    return folder / name


def tampered_metadata(folder: Path) -> Path:
    """Grade cells with points of their own, another kernel, other languages, other schemes."""
    made = _right()
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
    return _write(folder, made)


def tampered_metadata_of_wrong_answers(folder: Path) -> Path:
    """The same beside wrong answers, with outputs that say that all is right."""
    made = json.loads(tampered_metadata(folder).read_text())
    for cell, function in zip(made["cells"], ANSWERS, strict=True):
        cell["source"] = wrong(function)
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "Passed. 2/2"}]
    return _write(folder, made)


def metadata_that_is_none(folder: Path) -> Path:
    """Metadata, outputs and identifiers of no valid type."""
    made = _right()
    made["metadata"] = [1, 2]
    for cell in made["cells"]:
        cell |= {"metadata": None, "outputs": "none", "execution_count": "x", "id": "?" * 500}
    return _write(folder, made)


def answers_in_text_cells(folder: Path) -> Path:
    """The answers are no code at all."""
    made = _right()
    for cell in made["cells"]:
        cell["cell_type"] = "markdown"
    return _write(folder, made)


def no_json(folder: Path) -> Path:
    """Half a file."""
    return _write(folder, json.dumps(_right()).encode()[:-40])


def empty(folder: Path) -> Path:
    """No byte at all."""
    return _write(folder, b"")


def not_text(folder: Path) -> Path:
    """Bytes that are no text."""
    return _write(folder, os.urandom(100_000))


def a_list(folder: Path) -> Path:
    """JSON, but no notebook."""
    return _write(folder, [1, 2, 3])


def no_cells(folder: Path) -> Path:
    """A notebook whose cells are a number."""
    return _write(folder, _right() | {"cells": 7})


def cells_of_strange_types(folder: Path) -> Path:
    """Cells that are no objects, sources that are no texts."""
    return _write(
        folder, _right() | {"cells": [None, 7, {"cell_type": "code", "source": {"a": 1}}]}
    )


def nested_json(folder: Path) -> Path:
    """Brackets, a million deep."""
    return _write(folder, b"[" * 1_000_000)


def integer_of_many_digits(folder: Path) -> Path:
    """A number that takes a long time to read."""
    return _write(folder, b'{"nbformat": ' + b"9" * 5_000_000 + b"}")


def many_empty_lists(folder: Path) -> Path:
    """A small file that becomes large in memory."""
    return _write(folder, b'{"nbformat": 4, "cells": [' + b"[]," * 6_000_000 + b"[]]}")


def huge(folder: Path) -> Path:
    """A file of a terabyte that takes no room."""
    path = _write(folder, _right())
    os.truncate(path, 2**40)
    return path


def many_cells(folder: Path) -> Path:
    """A hundred thousand cells before the answers."""
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    made = _right()
    many = [{**cell, "id": f"c{n}", "source": f"x{n} = {n}"} for n in range(100_000)]
    return _write(folder, made | {"cells": many + made["cells"]})


def long_cell(folder: Path) -> Path:
    """A cell of ten million characters."""
    made = _right()
    first = made["cells"][0]
    first["source"] = ["x = '" + "y" * 10_000_000 + "'\n", *first["source"]]
    return _write(folder, made)


def old_format(folder: Path) -> Path:
    """The third format, as of 2013."""
    cells = [
        {
            "cell_type": "code",
            "input": right(f),
            "language": "python",
            "outputs": [],
            "collapsed": False,
            "metadata": {},
        }
        for f in ANSWERS
    ]
    sheets = [{"cells": cells, "metadata": {}}]
    return _write(
        folder, {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": sheets}
    )


def format_of_the_future(folder: Path) -> Path:
    """A format that there is not."""
    return _write(folder, _right() | {"nbformat": 99})


def format_that_is_true(folder: Path) -> Path:
    """A format that is no number."""
    return _write(folder, _right() | {"nbformat": True})


def keys_doubled(folder: Path) -> Path:
    """Two lists of cells, of which the last counts."""
    text = json.dumps(_right())
    return _write(folder, b'{"cells": [], ' + text.encode()[1:])


def characters_that_python_refuses(folder: Path) -> Path:
    """Null characters and halves of surrogate pairs in a cell."""
    made = _right()
    extra = {**made["cells"][0], "id": "extra", "source": "x = '\x00\ud800'"}
    return _write(folder, made | {"cells": [extra, *made["cells"]]})


def cells_that_break_the_parser(folder: Path) -> Path:
    """Source that is nested deeper than Python's parser goes."""
    made = _right()
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
    return _write(folder, made | {"cells": extra + made["cells"]})


def magics_and_commands(folder: Path) -> Path:
    """What IPython would give to a shell."""
    made = _right()
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
    return _write(folder, made | {"cells": extra + made["cells"]})


def a_link(folder: Path) -> Path:
    """A link to somebody else's right answer."""
    other = folder / "other"
    other.mkdir()
    (folder / NAME).symlink_to(_write(other, _right()))
    return folder / NAME


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


def nothing(folder: Path) -> Path:
    """No file."""
    return folder / NAME


def modules_beside(folder: Path) -> Path:
    """Modules that would be imported in place of the true ones, were the folder on the path."""
    text = "open('/tmp/hostile-beside', 'w').close()\nraise SystemExit('hostile')\n"
    for name in ("torch", "helpers", "sitecustomize", "usercustomize", "json", "nbformat", "numpy"):
        (folder / f"{name}.py").write_text(text)
    (folder / "hostile.pth").write_text("import torch\n")
    (folder / "jupyter_config.py").write_text(text)
    (folder / "conftest.py").write_text(text)
    return _write(folder, _right())


def a_strange_name(folder: Path) -> Path:
    """A file whose name is markup, a formula and an option at once."""
    return _write(folder, _right(), "--out=..;<script>alert(1)<\u2044script>\n=cmd|' !A0.ipynb")


def bytes_in_the_name(folder: Path) -> Path:
    """A file whose name is no text."""
    path = os.fsencode(folder) + b"/\xff\xfe\x80.ipynb"
    with open(path, "wb") as file:
        file.write(json.dumps(_right()).encode())
    return Path(os.fsdecode(path))


NOTHING: dict[str, Any] = {"full": (), "noted": True}

FILES: list[File] = [
    File("tampered metadata", tampered_metadata),
    File("tampered metadata, wrong answers", tampered_metadata_of_wrong_answers, full=()),
    File("metadata that is none", metadata_that_is_none),
    File("answers in text cells", answers_in_text_cells, full=()),
    *(
        File(build.__name__.replace("_", " "), build, **NOTHING)
        for build in (
            no_json,
            empty,
            not_text,
            a_list,
            no_cells,
            cells_of_strange_types,
            nested_json,
            integer_of_many_digits,
            many_empty_lists,
            huge,
            many_cells,
            long_cell,
            format_of_the_future,
            format_that_is_true,
            a_link,
            a_link_to_a_secret,
            a_pipe,
            a_folder,
            a_device,
            nothing,
        )
    ),
    *(
        File(build.__name__.replace("_", " "), build)
        for build in (
            old_format,
            keys_doubled,
            characters_that_python_refuses,
            cells_that_break_the_parser,
            magics_and_commands,
            modules_beside,
            a_strange_name,
            bytes_in_the_name,
        )
    ),
]
