"""Notebooks that are not as JupyterLab writes them: tampered, old, with strange cells or names.

Each builder fills a folder and returns the path to grade; what the grade has to be stands below.
"""

from __future__ import annotations

import json
from pathlib import Path

from hostile.files import ANSWERS, File, right_ones, write
from hostile.submission import right, wrong


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
    return write(
        folder, {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": sheets}
    )


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


FILES: list[File] = [
    File("tampered metadata", tampered_metadata),
    File("tampered metadata, wrong answers", tampered_metadata_of_wrong_answers, full=()),
    *(
        File(build.__name__.replace("_", " "), build)
        for build in (
            old_format,
            cells_that_break_the_parser,
            magics_and_commands,
            modules_beside,
            a_strange_name,
        )
    ),
]
