"""Run one benchmark: `./course bench NAME [--json]`, or `python -m benchmarks.run NAME --save`."""

from __future__ import annotations

import argparse
from importlib import import_module

from benchmarks.report import Report

NAMES = {
    "launch": "benchmarks.launch",
    "collectives": "benchmarks.collectives",
    "data-parallel": "benchmarks.data_parallel",
    "grade": "benchmarks.grade",
    "simulate": "benchmarks.simulate",
    "published": "benchmarks.published",
    "model-split": "benchmarks.model_split",
    "bubble": "benchmarks.bubble",
    "quantize": "benchmarks.quantize",
    "hosts": "benchmarks.hosts",
    "compress": "benchmarks.compress",
    "actors": "benchmarks.actors",
    "search": "benchmarks.search",
    "checkpoints": "benchmarks.checkpoints",
    "gpu": "benchmarks.gpu",
}


def main(name: str, as_json: bool = False, save: bool = False) -> int:
    """Measure, and print a table or JSON. save: keep the figures under benchmarks/results.

    Returns 0 once it has measured, whatever came out: a target missed on a busy machine is told,
    not an error. Raises ValueError for a name that there is not.
    """
    if name not in NAMES:
        raise ValueError(f"There is no benchmark {name!r}; there are {', '.join(NAMES)}.")
    report: Report = import_module(NAMES[name]).measure()
    if save:
        report.save()
    if as_json:
        print(report.json())
    else:
        report.show()
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--json", action="store_true", help="print JSON for a script")
    parser.add_argument("--save", action="store_true", help="keep the figures in the repository")
    arguments = parser.parse_args()
    raise SystemExit(main(arguments.name, arguments.json, arguments.save))
