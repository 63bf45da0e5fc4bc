"""What TensorFlow makes of a function stays in memory: no file is left, however a process ends."""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import helpers
from helpers.engine import autograph
from helpers.engine.errors import RankFailed

PROGRAM = "def f(x):\n    return 2 * x\n"


def converted(comm: Any, folder: str, fails: bool) -> tuple[float, list[str]]:
    """A converted function's value, and the files that it has made, while its process lives."""
    import tensorflow as tf

    tempfile.tempdir = folder

    @tf.function
    def size(x: Any) -> Any:
        if fails:
            raise ValueError("on purpose")  # my own line
        if x > 0:
            return x
        return -x

    return float(size(tf.constant(-2.0))), os.listdir(folder)


@pytest.mark.thorough
@pytest.mark.real
def test_a_rank_leaves_no_file(tmp_path: Path) -> None:
    done = helpers.run(converted, str(tmp_path), False, ranks=1, framework="tensorflow")
    assert list(done) == [(2.0, [])]
    with pytest.raises(RankFailed, match="on purpose"):
        helpers.run(converted, str(tmp_path), True, ranks=1, framework="tensorflow")
    assert os.listdir(tmp_path) == []


def test_what_is_kept_in_memory_is_a_module_whose_text_is_found() -> None:
    module, file = autograph.load_source(PROGRAM)
    assert module.f(3) == 6 and sys.modules[module.__name__] is module
    assert inspect.getsource(module.f) == PROGRAM
    assert not os.path.exists(file)


@pytest.mark.parametrize("before", [False, True])
def test_the_loader_is_changed_whenever_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    (tmp_path / "some_loader.py").write_text("def load_source():\n    return 'a file'\n")
    monkeypatch.setattr(autograph, "LOADER", "some_loader")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    imported = __import__("some_loader") if before else None
    monkeypatch.setattr(
        sys, "meta_path", [f for f in sys.meta_path if not isinstance(f, autograph._Finder)]
    )
    autograph.keep_in_memory()
    autograph.keep_in_memory()
    imported = imported or __import__("some_loader")
    assert imported.load_source is autograph.load_source
    assert not any(isinstance(finder, autograph._Finder) for finder in sys.meta_path)
    monkeypatch.delitem(sys.modules, "some_loader")
