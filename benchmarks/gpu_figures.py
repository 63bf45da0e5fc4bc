"""Take the figures that the lessons show from a GPU's results.

python -m benchmarks.gpu_figures benchmarks/results/MACHINE/gpu.json
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from helpers.notebook.on_gpu import FILE

MEMORY = re.compile(r"([\d.]+) MB by formula, ([\d.]+) measured, ([\d.]+) at the peak")


def taken(results: dict[str, Any]) -> dict[str, Any]:
    """Medians by case and name, bytes that rank 0 keeps, timelines; rounded as printed."""
    seconds: dict[str, dict[str, float]] = {}
    kept: dict[str, list[float]] = {}
    for row in results["rows"]:
        if row["case"].endswith("GPU cells"):
            continue
        seconds.setdefault(row["case"], {})[row["name"]] = float(f"{row['median_s']:.4g}")
        if found := MEMORY.search(row["note"]):
            kept[row["name"]] = [float(number) * 1e6 for number in found.groups()]
    return {
        "device": results["device"],
        "torch": results["machine"]["versions"]["torch"],
        "seconds": seconds,
        "kept": kept,
        "timelines": {
            kind: [[s["lane"], round(s["begin"], 3), round(s["end"], 3)] for s in spans]
            for kind, spans in results["extra"]["timelines"].items()
        },
    }


def text(path: Path) -> str:
    """The file for the lessons."""
    results = json.loads(path.read_text(encoding="utf-8"))
    return json.dumps(taken(results), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(Path(sys.argv[1])), encoding="utf-8")
