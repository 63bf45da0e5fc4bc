"""Files that are called like a notebook and are none, or hardly: read, or told in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_grader import notebook

from helpers.grade.judge.notebook import MAX_BYTES, Unreadable, code_cells, other_cells
from helpers.grade.judge.session import Session, State
from helpers.grade.run import can_be_parsed
from helpers.grade.worker import cells

WHOLE = notebook(say="é")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_every_unicode_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "it.ipynb"
    path.write_bytes(WHOLE.replace(", ", ",\r\n").encode(encoding))
    assert code_cells(path) == ['{"say": "\\u00e9"}'] and can_be_parsed(path, None)
    can_be_parsed.cache_clear()


CONFLICT = WHOLE.replace("{", "{\n<<<<<<< HEAD\n", 1).replace("}", "}\n<<<<<<< HEAD\n", 1)
IN_2010 = json.dumps({"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": []})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty, so the upload failed"),
        (b"\xef\xbb\xbf \r\n", "is empty, so the upload failed"),
        (b"\r\n<!DOCTYPE html><title>Log in</title>", "is a web page"),
        (b"\xef\xbb\xbf<html lang=en>", "is a web page"),
        ("<!doctype html>".encode("utf-16"), "is a web page"),
        (b"PK\x03\x04\x14\x00", "is an archive or a PDF"),
        (b"%PDF-1.7\n", "is an archive or a PDF"),
        (
            CONFLICT.encode(),
            "Git has left merge conflicts in it (<<<<<<< in 2 of its lines, first in",
        ),
        (WHOLE.replace("say", "süß").encode("cp1252"), "is not in UTF-8 (byte"),
        (WHOLE[:-9].encode(), "breaks off in line 1 of 1"),
        (WHOLE[:90].encode(), "breaks off in line 1 of 1"),
        (WHOLE.replace("}", "},\n", 1).encode(), "is damaged in line"),
        (b"import torch\n\ndef f():\n    pass\n", "no notebook, it begins with `import torch`"),
        (b"[" * 100_000, "no notebook that can be read"),
        (b"[1, 2]", "is JSON, but no notebook"),
        (b'{"kernel": 1}', "is JSON, but no notebook"),
        (IN_2010.encode(), "not of format 4, which Jupyter writes since 2014"),
        (b'{"nbformat": 4}', "it has no cells"),
        (b" " * (MAX_BYTES + 1), "which outputs make it: clear them"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_notebook_is_told_in_a_sentence(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "it.ipynb"
    path.write_bytes(data)
    with pytest.raises(Unreadable) as told:
        code_cells(path)
    text = str(told.value)
    assert said in text and "Error" not in text and text.endswith(".")


def test_what_is_no_code_is_told_apart(tmp_path: Path) -> None:
    made = json.loads(WHOLE)
    made["cells"] += [{"cell_type": kind, "source": ""} for kind in ("markdown", "raw")]
    (tmp_path / "it").write_text(json.dumps(made))
    assert [kind for kind, _ in other_cells(tmp_path / "it")] == ["Markdown", "raw"]


@pytest.mark.parametrize(
    ("source", "line", "said"),
    [
        ("x = 1\ndef fit(a:\n    pass", 2, "def fit(a:"),
        ("\n\n!ls\ndef fit(a):\nreturn 1", 5, "return 1"),
        ("%%time\ndef fit(a):\r\n  return 1\r\n    y = 2\r\n", 4, "y = 2"),
        ("\n%matplotlib inline\n<<<<<<< local\ndef fit(a):\n    pass", 3, "<<<<<<< local"),
    ],
)
def test_a_fault_is_told_by_its_line_as_the_notebook_has_it(
    source: str, line: int, said: str
) -> None:
    ((cell, _, error),) = cells.read(["x = 1", source]).broken
    assert (cell, getattr(error, "lineno", None)) == (1, line)
    session: Any = Session.__new__(Session)
    session._sources, session._skip = ["x = 1", source], {(1, -1): "crashed"}
    seen = session._read_state([type(error).__name__, "said", 1, line])
    assert (seen.shown, seen.line) == (said, line)
    assert session._read_state(["skipped", "", 1, -1]).what == "crashed"
    beyond = State("failed", 10, 99, "KeyError")
    assert session._read_state(["KeyError", "", 9, 99]) == beyond
