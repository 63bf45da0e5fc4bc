"""TensorFlow for a notebook's cells, imported without what it says to stderr on the way.

`from helpers.notebook.quiet import tensorflow as tf`
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")


@contextmanager
def silence() -> Iterator[None]:
    """Keep what is written to stderr's descriptor meanwhile; show it where that fails."""
    sys.stderr.flush()
    shown = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except BaseException:
            kept.seek(0)
            os.write(shown, kept.read())
            raise
        finally:
            os.dup2(shown, 2)
            os.close(shown)


with silence():
    import tensorflow

__all__ = ["tensorflow"]
