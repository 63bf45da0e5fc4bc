"""What one GPU gave, to set beside what your own machine gives: `./course bench gpu`, run once.

The file is `on_gpu.json`; `python -m benchmarks.gpu_figures NAME.json` writes it from the figures
of a run. Times are medians.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("on_gpu.json")


class Kept(NamedTuple):
    """Bytes of one rank: what the formula says that it keeps, what the allocator counted, its peak.

    Between two steps, and the most during one.
    """

    formula: float
    measured: float
    peak: float


@lru_cache(maxsize=1)
def _figures() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def mark(what: str = "") -> str:
    """What stands beside every such figure: on which device, and that it was not here.

    what: which figures, "There" say, where others stand beside them.
    """
    words = f"easured on one {_figures()['device']} with torch {_figures()['torch']}, not here."
    return f"{what}: m{words}" if what else f"M{words}"


def cases() -> dict[str, list[str]]:
    """What was measured: the contenders of each case."""
    return {case: list(names) for case, names in _figures()["seconds"].items()}


def seconds(case: str, name: str) -> float:
    """The median time of a contender. Raises KeyError, with what there is, for any other."""
    found = _figures()["seconds"]
    if name not in found.get(case, {}):
        there = found.get(case, found)
        raise KeyError(f"{name!r} in {case!r} was not measured. There is: {', '.join(there)}.")
    return float(found[case][name])


def kept(way: str) -> Kept:
    """What rank 0 keeps in one of the ways to train a Transformer on two ranks, in bytes."""
    return Kept(*_figures()["kept"][way])


def timeline(kind: str) -> list[tuple[str, float, float]]:
    """Products and copies on two queues of the GPU: (lane, begin, end), in milliseconds.

    kind: of the host's memory, "pageable" or "pinned".
    """
    return [(lane, begin, end) for lane, begin, end in _figures()["timelines"][kind]]
