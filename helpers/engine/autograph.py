"""TensorFlow's converted functions, kept in memory instead of in the temporary folder.

`tf.function` translates a function into another one (AutoGraph). TensorFlow writes its text to a
file, imports that, and removes it when Python ends. A rank, though, is killed when its run is over,
and so is a kernel that does not answer; then the files would stay for ever, some for every run.
"""

from __future__ import annotations

import sys
from itertools import count
from types import ModuleType
from typing import Any

LOADER = "tensorflow.python.autograph.pyct.loader"
_numbers = count(1)


def keep_in_memory() -> None:
    """Have TensorFlow write no such files in this process, and in those forked from it.

    Costs nothing where TensorFlow is not imported: what is changed is changed when it is.
    """
    loaded = sys.modules.get(LOADER)
    if loaded is not None:
        _change(loaded)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _change(loader: Any) -> None:
    loader.load_source = load_source


def load_source(source: str, delete_on_exit: bool = True) -> tuple[ModuleType, str]:
    """A module with this text, and the name of the file that it would be; there is none.

    Stands for TensorFlow's function of this name. Tracebacks and `inspect` find the text.
    """
    import linecache

    name = f"__autograph_generated_{next(_numbers)}"
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = ModuleType(name)
    module.__file__ = file
    exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    sys.modules[name] = module
    return module, file


class _Finder:
    """Stands before Python's own finders until TensorFlow's loader is imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The loader's own spec, after which the loader is changed; None for all else."""
        if name != LOADER:
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_change(module: ModuleType) -> None:
            execute(module)
            _change(module)

        spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]
        return spec
