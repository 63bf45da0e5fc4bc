"""Files that are no notebooks, or none that may be read: broken, huge, linked, without end.

Each builder fills a folder and returns the path to grade. No answer in them gets a point, and the
grade says why.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from hostile.files import NAME, File, right_ones, write


def no_json(folder: Path) -> Path:
    """Half a file."""
    return write(folder, json.dumps(right_ones()).encode()[:-40])


def no_cells(folder: Path) -> Path:
    """A notebook whose cells are a number."""
    return write(folder, right_ones() | {"cells": 7})


def cells_of_strange_types(folder: Path) -> Path:
    """Cells that are no objects, sources that are no texts."""
    return write(
        folder, right_ones() | {"cells": [None, 7, {"cell_type": "code", "source": {"a": 1}}]}
    )


def nested_json(folder: Path) -> Path:
    """Brackets, a million deep."""
    return write(folder, b"[" * 1_000_000)


def many_empty_lists(folder: Path) -> Path:
    """A small file that becomes large in memory."""
    return write(folder, b'{"nbformat": 4, "cells": [' + b"[]," * 6_000_000 + b"[]]}")


def huge(folder: Path) -> Path:
    """A file of a terabyte that takes no room."""
    path = write(folder, right_ones())
    os.truncate(path, 2**40)
    return path


def many_cells(folder: Path) -> Path:
    """A hundred thousand cells before the answers."""
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    made = right_ones()
    many = [{**cell, "id": f"c{n}", "source": f"x{n} = {n}"} for n in range(100_000)]
    return write(folder, made | {"cells": many + made["cells"]})


def long_cell(folder: Path) -> Path:
    """A cell of ten million characters."""
    made = right_ones()
    first = made["cells"][0]
    first["source"] = ["x = '" + "y" * 10_000_000 + "'\n", *first["source"]]
    return write(folder, made)


def format_of_the_future(folder: Path) -> Path:
    """A format that there is not."""
    return write(folder, right_ones() | {"nbformat": 99})


def format_that_is_true(folder: Path) -> Path:
    """A format that is no number."""
    return write(folder, right_ones() | {"nbformat": True})


def a_link(folder: Path) -> Path:
    """A link to somebody else's right answer."""
    other = folder / "other"
    other.mkdir()
    (folder / NAME).symlink_to(write(other, right_ones()))
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


BROKEN: list[File] = [
    File(build.__name__.replace("_", " "), build, full=(), noted=True)
    for build in (
        no_json,
        no_cells,
        cells_of_strange_types,
        nested_json,
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
]
