"""Notebooks as files: read, put into one normal form, write, and run."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from helpers.course.build.outputs_of import imports_hash
from helpers.notebook.record import SWITCH

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
WIDGET = "application/vnd.jupyter.widget-view+json"
CELL_KEYS = ("deletable", "editable", "jupyter", "nbgrader", "tags")
CELL_TIMEOUT = 300


def read(path: Path) -> NotebookNode:
    """A notebook as it is. Raises ValueError with a sentence where it is not one."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        cells = list(raw["cells"])
        ids = [cell.get("id") for cell in cells]
    except Exception as error:  # anything may be in the file
        raise ValueError(f"{path.name} is not a valid notebook: {error}") from error
    if not all(ids):  # nbformat would give new, random ones in silence
        raise ValueError(f"{path.name}: {ids.count(None)} cells have no id")
    if twice := [one for one in ids if ids.count(one) > 1]:
        raise ValueError(f"{path.name}: two cells have the id {twice[0]}")
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=nbformat.NO_CONVERT)
        nbformat.validate(notebook)
    except Exception as error:  # nbformat raises many kinds
        raise ValueError(f"{path.name} is not a valid notebook: {error}") from error
    if (notebook.nbformat, notebook.nbformat_minor) < (4, 5):
        raise ValueError(f"{path.name} has an old format: cells need ids (nbformat 4.5)")
    return notebook


def text(notebook: NotebookNode) -> str:
    """The file's text: sorted keys, one space a level, one newline at the end."""
    return str(nbformat.writes(notebook, version=nbformat.NO_CONVERT)).rstrip("\n") + "\n"


def code_cells(notebook: NotebookNode) -> Iterator[NotebookNode]:
    """The code cells that hold something."""
    return (c for c in notebook.cells if c.cell_type == "code" and c.source.strip())


def code_hash(notebook: NotebookNode) -> str:
    """A hash of all code, which shows whether it was edited after it was run."""
    sources = "\0".join(cell.source for cell in code_cells(notebook))
    return hashlib.sha256(sources.encode()).hexdigest()[:16]


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Put a notebook into its normal form, in place: nothing that changes from run to run.

    Execution times, widget state and widget outputs go; outputs, counts, ids and tags stay.
    """
    course = notebook.metadata.get("course")
    notebook.metadata = NotebookNode(
        kernelspec=NotebookNode(KERNEL), language_info=NotebookNode(name="python")
    )
    if course:
        notebook.metadata["course"] = NotebookNode(course)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for cell in notebook.cells:
        cell.source = cell.source.rstrip("\n")
        kept = {k: cell.metadata.get(k) for k in CELL_KEYS}
        cell.metadata = NotebookNode({k: v for k, v in kept.items() if v not in (None, [], {})})
        if cell.cell_type == "code":
            cell.outputs = _outputs(cell.outputs)
    return notebook


def _outputs(outputs: list[NotebookNode]) -> list[NotebookNode]:
    kept: list[NotebookNode] = []
    for output in outputs:
        if WIDGET in output.get("data", {}):
            continue
        if output.output_type == "stream" and kept and kept[-1].get("name") == output.name:
            kept[-1].text += output.text
            continue
        if "metadata" in output:
            alt: Any = output.metadata.get("image/png", {}).get("alt")
            output.metadata = NotebookNode({"image/png": {"alt": alt}} if alt else {})
        output.pop("transient", None)
        kept.append(output)
    return kept


def execute(notebook: NotebookNode, folder: Path, timeout: float = CELL_TIMEOUT) -> None:
    """Run all cells in place, in a kernel that starts in `folder`; timeout: seconds a cell.

    Raises nbclient's CellExecutionError where a cell raises.
    """
    from nbclient import NotebookClient

    for cell in code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    root = str(Path(__file__).parents[3])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    # Nobody learns here: no progress is shown, and none is kept.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), SWITCH: "off"}
    # A frozen-modules notice on stderr would count as an output.
    environment.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
        record_timing=False,
    )
    client.execute(env=environment)
    ran(notebook)


def ran(notebook: NotebookNode) -> None:
    """Note what its outputs were made with: its own code, and what its cells import."""
    hashes = {"executed": code_hash(notebook), "imports": imports_hash(notebook)}
    notebook.metadata["course"] = NotebookNode(hashes)


def say(line: str) -> None:
    """Print one line of a build's report."""
    print(line, file=sys.stdout, flush=True)
