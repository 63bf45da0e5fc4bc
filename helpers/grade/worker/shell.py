"""What stands in for IPython's shell where a submission runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from typing import Any


class Shell:
    """Magics and shell commands do nothing, but for `%%writefile`: its modules can be imported."""

    def run_cell_magic(self, name: str, line: str, text: str) -> None:
        """Keep what a cell would write to a file."""
        if name in ("writefile", "file") and line.split():
            written.keep(line.split()[-1], text, more="-a" in line.split())

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **options: None


class Written(MetaPathFinder, InspectLoader):
    """The modules that cells write, kept in memory: no submission leaves a file for the next."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def keep(self, file: str, text: str, more: bool) -> None:
        """Take a file's text, or more of it. What is imported already stays as it is."""
        self.files[file] = (self.files.get(file, "") if more else "") + text
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module where a cell has written it."""
        return spec_from_loader(name, self) if f"{name}.py" in self.files else None

    def get_source(self, name: str) -> str:
        """The module's text."""
        return self.files[f"{name}.py"]


written = Written()
