"""Run, draw, check and build the lessons of the course.

`import helpers` is quick: the parts below are imported where they are first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from helpers.engines.autograph import keep_in_memory

if TYPE_CHECKING:
    from helpers.engines.cluster.run import attach as attach
    from helpers.engines.job import comm as comm
    from helpers.engines.run import run as run
    from helpers.engines.servers.train import train as train
    from helpers.exercises.check import check as check
    from helpers.exercises.check import mine_or_yours as mine_or_yours
    from helpers.exercises.top import lesson as lesson

_HOMES = {
    "run": "helpers.engines.run",
    "attach": "helpers.engines.cluster.run",
    "train": "helpers.engines.servers.train",
    "comm": "helpers.engines.job",
    "check": "helpers.exercises.check",
    "mine_or_yours": "helpers.exercises.check",
    "lesson": "helpers.exercises.top",
}

__all__ = ["attach", "check", "comm", "lesson", "mine_or_yours", "run", "train"]

keep_in_memory()
if "IPython" in sys.modules:  # before the first exercise's cell runs
    import_module("helpers.notebook.failed_cells").watch()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'helpers' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
