"""Takes features away that Linux has and others lack, from a Python with this folder on its path.

LACKING in the environment says which: "macos" for what macOS lacks, "fork" for `os.fork` too. Only
the course itself is told that it is not on Linux: the packages beside it are Linux's own. Its child
processes inherit all of it.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

MACOS = {
    os: ("sched_getaffinity", "sched_setaffinity", "memfd_create", "MFD_CLOEXEC", "eventfd",
         "pidfd_open", "pipe2", "setns", "unshare"),
    select: ("epoll",),
    signal: ("pidfd_send_signal", "sigtimedwait", "sigwaitinfo"),
}  # fmt: skip
# What the course reads of its system, as it is written in its files, and what stands there instead.
# The loopback interface stays: gloo needs the real one.
INSTEAD = {
    b"sys.platform": b"'darwin'",
    b'"/proc': b'"/nowhere/proc',
    b'"/sys/': b'"/nowhere/sys/',
    b'"/dev/shm': b'"/nowhere/shm',
    b'"lo0"': b'"lo"',
}


class Loader(SourceFileLoader):
    """Loads a module of the course as another system would have it; nothing is kept of that."""

    def get_code(self, fullname: str) -> CodeType:
        """Of the text with the replacements."""
        text = self.get_data(self.path)
        for old, new in INSTEAD.items():
            text = text.replace(old, new)
        return self.source_to_code(text, self.path)


class Finder:
    """Finds the course's modules."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As Python does, with another loader; None for what is not the course's."""
        if name.partition(".")[0] != "helpers":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = Loader(name, spec.origin)
        return spec


lacking = os.environ.get("LACKING", "").split()
if "macos" in lacking:
    for module, names in MACOS.items():
        for each in names:
            if hasattr(module, each):
                delattr(module, each)
    sys.meta_path.insert(0, Finder)
if "fork" in lacking:
    del os.fork, os.forkpty
