"""TensorFlow's converted functions, kept in memory instead of in the temporary folder.

`tf.function` translates a function into another one (AutoGraph). TensorFlow writes its text to a
file, imports that, and removes it when Python ends. A rank, though, is killed when its run is over,
and so is a kernel that does not answer; then the files would stay for ever, some for every run.
"""

from __future__ import annotations

import linecache
import sys
from itertools import count
from types import ModuleType
from typing import Any

_numbers = count(1)


def keep_in_memory() -> None:
    """Have TensorFlow, if it is loaded, write no such files in this process and its forks."""
    loader: Any = sys.modules.get("tensorflow.python.autograph.pyct.loader")
    if loader is not None:
        loader.load_source = load_source


def load_source(source: str, delete_on_exit: bool = True) -> tuple[ModuleType, str]:
    """A module with this text, and the name of the file that it would be; there is none.

    Stands for TensorFlow's function of this name. Tracebacks and `inspect` find the text.
    """
    name = f"__autograph_generated_{next(_numbers)}"
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = ModuleType(name)
    module.__file__ = file
    exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    sys.modules[name] = module
    return module, file
