"""What TensorFlow and Horovod write to stderr from their own depths: kept, shown on failure.

Their C++ libraries write to the descriptor, past Python. What Python writes to `sys.stderr` is
shown as ever.
"""

from __future__ import annotations

import functools
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from helpers.engine.autograph import keep_in_memory

NOISY = ("tensorflow", "horovod")
_STACK = re.compile(r"^(?:Fatal Python error:|Current thread |Thread )", re.MULTILINE)
_MOST = 4000  # characters; the end says why it failed


@contextmanager
def stderr_to(file: int) -> Iterator[int]:
    """Send stderr's descriptor to a file: native code's too, and that of processes started now.

    Gives a descriptor of where it went before.
    """
    sys.stderr.flush()
    shown = os.dup(2)
    os.dup2(file, 2)
    try:
        yield shown
    finally:
        sys.stderr.flush()
        os.dup2(shown, 2)
        os.close(shown)


@contextmanager
def silence() -> Iterator[None]:
    """Keep what is written to stderr's descriptor meanwhile; show it where that fails."""
    with tempfile.TemporaryFile() as kept, stderr_to(kept.fileno()) as shown:
        try:
            yield
        except BaseException:
            kept.seek(0)
            os.write(shown, kept.read())
            raise


def keep_apart(file: int, output: int) -> None:
    """Have stderr's descriptor write to `file`, and Python's `sys.stderr` to `output`."""
    os.dup2(file, 2)
    sys.stderr = os.fdopen(output, "w", buffering=1, encoding="utf-8", closefd=False)
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    show_prints()
    keep_in_memory()


def show_prints() -> None:
    """Have `tf.print` write to the output: it is what a rank says, and goes to stderr otherwise."""
    tensorflow: Any = sys.modules.get("tensorflow")
    if tensorflow is None:
        return
    original = tensorflow.print

    @functools.wraps(original)
    def shown(*inputs: Any, **options: Any) -> Any:
        return original(*inputs, **{"output_stream": sys.stdout, **options})

    tensorflow.print = shown


def kept(file: int, name: str) -> str:
    """What has come to a rank's file, as a report ends with it; nothing where none came.

    Python's own account of stacks, which goes to the same file, is left out.
    """
    text = os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", "replace")
    text = _STACK.split(text)[0].strip()
    if not text:
        return ""
    if len(text) > _MOST:
        text = "… " + text[-_MOST:]
    return f"\nWhat the framework wrote to stderr on {name}:\n{text}"


def shorten(error: BaseException) -> None:
    """Take the history of every op out of an error of TensorFlow's; what went wrong where stays."""
    if not type(error).__module__.startswith("tensorflow.") or not hasattr(error, "_message"):
        return
    failed: Any = error
    text = re.split(r"\n(?:Original stack trace|Colocation Debug Info)", failed.message)[0]
    _, node, rest = text.rpartition("\nNode: ")
    failed._op, failed._message = None, "the op " + rest if node else text
    failed.__cause__, failed.__suppress_context__ = None, True
