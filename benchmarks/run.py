"""Run one benchmark, or all: `./course bench NAME [--json] [--save]`.

Every run keeps its figures (`kept.py`): in the user's cache folder, or with --save in the
repository. A report without a time or a claim is not kept: it says why nothing was measured.
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from benchmarks import kept
from benchmarks.report import BUSY, Report
from benchmarks.table import of_report, show

MOST = 25  # % of the cores that other programs may use


class Benchmark(NamedTuple):
    """beside: what is measured, beside what. minutes: then it is ended."""

    beside: str
    minutes: float = 45


NAMES = {  # each is measured by the module of its name
    "launch": Benchmark(
        "four ranks from a cell, beside torchrun, mp.spawn, accelerate and horovodrun"
    ),
    "collectives": Benchmark("the lessons' all-reduce, beside gloo's and a copy of memory"),
    "data-parallel": Benchmark(
        "the lessons' training steps, beside torch's DDP, FSDP2, DTensor and pipelining, and "
        "Horovod's",
    ),
    "grade": Benchmark("grading, beside nbgrader and otter-grader; a class of 300", 90),
    "simulate": Benchmark(
        "servers and workers without gradients, beside SimPy; 10 to 10 000 workers"
    ),
    "published": Benchmark("published figures recomputed on the clock, with every point's error"),
    "model-split": Benchmark(
        "a deep recurrent net and a dense one on two ranks, as counted before"
    ),
    "bubble": Benchmark("how much of a pipeline's step two ranks idle, beside the formula"),
    "quantize": Benchmark("a layer and models in 8 bits, beside fp32, bf16 and torchao"),
    "hosts": Benchmark(
        "all-reduces over shaped links, beside what these carry; steps, as predicted before"
    ),
    "compress": Benchmark(
        "steps with fewer bits or less often, beside torch's hooks; predictions; losses over seeds",
        90,
    ),
    "actors": Benchmark(
        "A3C on two games over five seeds; steps a second, beside a loop on gymnasium alone",
        90,
    ),
    "search": Benchmark(
        "a search on processes, beside Optuna's; wrong promotions; kills",
        90,
    ),
    "checkpoints": Benchmark(
        "what saving adds to a step, beside torch's own; kills; other numbers of ranks"
    ),
    "lessons": Benchmark("every lesson's solution in a kernel, from its start to its end", 90),
    "gpu": Benchmark("on a GPU: products, training steps, memory, copies, every lesson's GPU cell"),
}


def main(name: str, as_json: bool = False, save: bool = False) -> int:
    """Measure, and print a table or JSON. save: keep the figures in the repository.

    Returns 0 once it has measured, whatever came out: a target missed on a busy machine is told,
    not an error. Raises ValueError for a name that there is not.
    """
    report = measured(name)
    if report.rows or report.points or report.claims:
        kept.store(save).keep(report)
    if as_json:
        print(report.json())
    else:
        show(of_report(report))
    return 0


def measured(name: str) -> Report:
    """What a benchmark finds now, with the moment and how long it took."""
    if name not in NAMES:
        raise ValueError(f"There is no benchmark {name!r}; there are {', '.join(NAMES)}.")
    measured, start, busy = kept.now(), time.perf_counter(), others()
    report: Report = import_module(f"benchmarks.{name.replace('-', '_')}").measure()
    report.measured, report.took_s = measured, time.perf_counter() - start
    if busy > MOST:
        report.notes.append(
            f"{BUSY} when this began: other programs used {busy:.0f} % of its cores."
        )
    return report


def others() -> float:
    """How much of this machine's cores is in use, in %, while this process sleeps."""
    import psutil

    return psutil.cpu_percent(interval=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--json", action="store_true", help="print JSON for a script")
    parser.add_argument("--save", action="store_true", help="keep the figures in the repository")
    parser.add_argument("--into", type=Path, help="write JSON into this file, and nothing else")
    arguments = parser.parse_args()
    if arguments.into:
        kept.write(arguments.into, measured(arguments.name).json() + "\n")
    else:
        raise SystemExit(main(arguments.name, arguments.json, arguments.save))
