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
