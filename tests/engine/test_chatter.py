"""What frameworks write: to stderr, in no output but a failed run's report; and no file."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import helpers
from helpers.engine.errors import RankDied, RankFailed, RunTimeout

SAID = "E0000 said in the depths"
NOISY = pytest.mark.parametrize("framework", ["tensorflow", "horovod"])
pytestmark = pytest.mark.real


def chatter(comm: Any, end: Any = None) -> int:
    """Write as C++ does, as Python does, and print; rank 1 then ends as it is told."""
    os.write(2, f"{SAID} of rank {comm.rank}\n".encode())
    print("a warning", file=sys.stderr)
    print("a result")
    if end is not None and comm.rank == 1:
        end()
    return int(comm.rank)


def fail() -> None:
    raise ValueError("wrong")


def sleep() -> None:
    import time

    time.sleep(60)


@NOISY
def test_it_is_in_no_output(framework: str) -> None:
    results = helpers.run(chatter, ranks=2, framework=framework, show=False)
    assert [set(text.splitlines()) for text in results.output] == [{"a warning", "a result"}] * 2


@pytest.mark.parametrize(
    ("framework", "end", "kind"),
    [
        ("tensorflow", fail, RankFailed),
        ("horovod", os.abort, RankDied),
        pytest.param("tensorflow", sleep, RunTimeout, marks=pytest.mark.thorough),
    ],
)
def test_it_is_in_the_report_of_what_failed(framework: str, end: Any, kind: Any) -> None:
    timeout = 8 if end is sleep else 60
    with pytest.raises(kind) as caught:
        helpers.run(chatter, end, ranks=2, framework=framework, timeout=timeout, show=False)
    said = str(caught.value).partition("What the framework wrote to stderr on rank 1:\n")[2]
    assert said == f"{SAID} of rank 1"


def test_torch_ranks_show_everything() -> None:
    results = helpers.run(chatter, ranks=2, show=False)
    assert f"{SAID} of rank 1" in results.output[1]


def test_an_error_of_tensorflow_comes_without_the_history_of_its_op() -> None:
    def rank(comm: Any) -> None:
        import tensorflow as tf

        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            two = tf.compat.v1.placeholder_with_default(2, [])
            session.run(tf.debugging.assert_equal(1, two))

    with pytest.raises(RankFailed) as caught:
        helpers.run(rank, ranks=1, framework="tensorflow", show=False)
    assert "Condition x == y did not hold" in str(caught.value)
    assert "Original stack trace" not in str(caught.value)


def test_what_tensorflow_prints_is_output() -> None:
    def rank(comm: Any) -> None:
        import tensorflow as tf

        @tf.function
        def in_a_graph() -> None:
            tf.print("in a graph", comm.rank)

        tf.print("eagerly", comm.rank)
        in_a_graph()

    results = helpers.run(rank, ranks=2, framework="tensorflow", show=False)
    assert [text.splitlines() for text in results.output] == [
        [f"eagerly {rank}", f"in a graph {rank}"] for rank in range(2)
    ]


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


def test_a_function_that_autograph_converts_leaves_no_file(tmp_path: Path) -> None:
    done = helpers.run(converted, str(tmp_path), False, ranks=1, framework="tensorflow")
    assert list(done) == [(2.0, [])]
    with pytest.raises(RankFailed, match="# my own line"):
        helpers.run(converted, str(tmp_path), True, ranks=1, framework="tensorflow")
    assert os.listdir(tmp_path) == []


@pytest.mark.thorough
def test_a_notebook_imports_tensorflow_without_a_word() -> None:
    program = "from helpers.notebook.quiet import tensorflow as tf; print(tf.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "tensorflow\n"
    assert done.stderr == ""
