"""Two splits on two ranks: what was counted before, beside what they take.

A deep recurrent network as a wave has to gain; a small dense network cut vertically must not; and
the count, from rates that are measured apart, has to say both. Every rank has one thread, and the
one rank that they are held against has one thread too.
"""

from __future__ import annotations

from benchmarks.report import Report
from helpers.lessons.splitting.experiments.split_clock import (
    Dense,
    Found,
    Recurrent,
    measure_dense,
    measure_recurrent,
)

GAIN = 1.5
"""What the recurrent network's two ranks have to be quicker by."""
ERROR = 0.2
"""How far a count may be from the measurement, in parts of it."""


def error(predicted: float, measured: float) -> float:
    """How far off, in parts of what was measured."""
    return abs(predicted - measured) / measured


def add(report: Report, case: str, found: Found) -> None:
    """A split's times, and how far its counts were off."""
    for name, seconds, predicted in (
        ("one rank", found.one, found.predicted_one),
        ("two ranks", found.two, found.predicted_two),
    ):
        row = report.add(case, name, seconds, f"counted {1e3 * predicted:.3g} ms")
        off = error(predicted, row.median_s)
        report.claim(f"{case}, {name}: the count is off by", off, ERROR, False, " of it")
    off = error(found.predicted_speedup, found.speedup)
    report.claim(f"{case}: the counted speedup is off by", off, ERROR, False, " of it")
    alone, both = (rates.flops / 1e9 for rates in (found.alone, found.together))
    report.notes.append(
        f"{case}: {alone:.3g} · 10⁹ operations a second on one rank alone, {both:.3g} on each of "
        f"two; α = {1e6 * found.together.alpha:.3g} µs, β = {1e9 * found.together.beta:.3g} ns a "
        f"byte; speedup counted {found.predicted_speedup:.3g}, measured {found.speedup:.3g}."
    )


def measure() -> Report:
    """Both splits, one after the other."""
    report = Report("model-split", "A training step on one rank and on two, one thread each")
    deep, small = Recurrent(), Dense()
    wave, vertical = measure_recurrent(deep, repeats=9), measure_dense(small, repeats=101)
    name = f"recurrent, {deep.layers} layers of {deep.width}, {deep.chunks} chunks"
    add(report, name, wave)
    report.claim("recurrent: two ranks quicker than one", wave.speedup, GAIN)
    name = f"dense, {small.layers} layers of {small.width}, vertical"
    add(report, name, vertical)
    report.claim("dense: two ranks quicker than one", vertical.speedup, 1.0, at_least=False)
    return report
