"""TensorFlow for a notebook's cells, imported without what it says to stderr on the way.

`from helpers.notebook.quiet import tensorflow as tf`
"""

from __future__ import annotations

import os

from helpers.engine.autograph import keep_in_memory
from helpers.engine.chatter import silence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

with silence():
    import tensorflow

keep_in_memory()

__all__ = ["tensorflow"]
