"""Run, draw, check and build the lessons of the course.

`import helpers` is quick: the parts below are imported where they are first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from helpers.checks.check import check as check
    from helpers.checks.check import mine_or_yours as mine_or_yours
    from helpers.engine.cluster.run import attach as attach
    from helpers.engine.job import comm as comm
    from helpers.engine.run import run as run
    from helpers.lessons.parameter_servers.experiments.train import train as train
    from helpers.notebook.top import lesson as lesson

_HOMES = {
    "run": "helpers.engine.run",
    "attach": "helpers.engine.cluster.run",
    "train": "helpers.lessons.parameter_servers.experiments.train",
    "comm": "helpers.engine.job",
    "check": "helpers.checks.check",
    "mine_or_yours": "helpers.checks.check",
    "lesson": "helpers.notebook.top",
}

__all__ = ["attach", "check", "comm", "lesson", "mine_or_yours", "run", "train"]

if "IPython" in sys.modules:  # before the first exercise's cell runs
    import_module("helpers.notebook.failed_cells").watch()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'helpers' has no attribute {name!r}")
    import_module("helpers.notebook.shown")  # runs give traces, which it draws
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
