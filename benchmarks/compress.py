"""Fewer bits, or less often: steps over links beside plain ones and torch's hooks, and losses.

Bytes are counted twice: tensors as ranks hand them over, and, where torch's hooks send them, what
the host's own interface says has left it, with all headers.
"""

from __future__ import annotations

import statistics

import helpers
from benchmarks.hosts import rate
from benchmarks.report import Report
from helpers.engine.comm import Comm
from helpers.engine.errors import NoHosts
from helpers.lessons.fewer_bits.algorithms.step_cost import Scheme, compressed_step
from helpers.lessons.fewer_bits.experiments import embedding_steps, fewer_bits, hooked_steps
from helpers.lessons.fewer_bits.experiments.scheme_steps import (
    LOCAL,
    REDUCERS,
    Steps,
    fitted,
    measured,
    rate_of,
)

WORKERS = 4
NBYTES, COMPUTE = 10_000_000, 0.02
WIRES = ("100mbit", "1gbit")
QUICKER = {"bf16": 1.8, "top 1 %": 10.0, LOCAL: 20.0}
MODELS = ((2_000_000, 0.1), (8_000_000, 0.2), (20_000_000, 0.4))  # bytes of gradients, seconds
LINKS = ("100mbit", "200mbit", "1gbit", "memory")
FITTED_OVER = "400mbit"
PREDICTED = 20.0
LOSSES = {
    "bf16": ("float32", 1.0),
    "top 1 %": ("float32", 3.0),
    "PowerSGD 4": ("float32", 3.0),
    fewer_bits.LOCAL: ("AdamW", 5.0),
}
LOST = ("top 1 %", "1 bit", "PowerSGD 4")
WAYS = ["float32", *LOSSES, "1 bit", "AdamW", *(f"{name}, no feedback" for name in LOST)]
SEEDS = tuple(range(5))
STEPS = 600


def measure() -> Report:
    """All of it; a report that says why where this machine gives no hosts."""
    report = Report("compress", "Fewer bits, or less often: seconds, bytes and losses")
    try:
        for wire in WIRES:
            measure_steps(report, wire)
    except NoHosts as why:
        report.notes.append(why.report)
        return report
    measure_hooks(report)
    measure_rows(report)
    measure_predictions(report)
    measure_losses(report)
    return report


def measure_steps(report: Report, wire: str) -> None:
    """Each way's step over links of one bandwidth, in as many as three rounds."""
    found: dict[str, list[Steps]] = {name: [] for name in (*REDUCERS, LOCAL)}
    for _ in range(3):
        for name, rounds in found.items():
            rounds.append(measured(name, NBYTES, COMPUTE, WORKERS, wire, count=3))
    plain = statistics.median(each.seconds for each in found["float32"])
    sent = found["float32"][0].nbytes
    for name, rounds in found.items():
        seconds = [each.seconds for each in rounds]
        quicker, share = plain / statistics.median(seconds), rounds[0].nbytes / sent
        case = f"step, {NBYTES // 10**6} MB, {WORKERS} hosts, {wire}"
        report.add(case, name, seconds, f"{quicker:.2f}×, {100 * share:.2f} % of the bytes")
        if wire == "100mbit" and name in QUICKER:
            report.claim(f"{name}, {wire}, quicker", quicker, QUICKER[name])


def measure_hooks(report: Report) -> None:
    """The course's reducers beside torch's hooks, over the same links."""
    for wire in WIRES:
        for name, ways in hooked_steps.PAIRS.items():
            left = []
            for whose, fn in zip(("ours", "torch's hook"), ways, strict=True):
                rounds = [hooked_steps.measured(fn, WORKERS, wire) for _ in range(3)]
                left.append(statistics.median(nbytes for _, nbytes in rounds))
                report.add(
                    f"{name}, DDP's gradients, {wire}", whose, [seconds for seconds, _ in rounds],
                    f"{left[-1] / 1e6:.3f} MB left a host",
                )  # fmt: skip
            if wire == "100mbit":
                off = 100 * abs(left[0] / left[1] - 1)
                report.claim(f"{name}: bytes beside torch's, off by", off, 3.0, False, "%")


def measure_rows(report: Report) -> None:
    """An embedding's gradient as touched rows beside the whole of it, few and many touched."""
    for words, drawn, few in ((20_000, 1_000, True), (2_000, 30_000, False)):
        found = {
            name: embedding_steps.measured(sparse, words, drawn, WORKERS, "100mbit")
            for name, sparse in (("whole", False), ("rows", True))
        }
        case = f"a table of {words} rows, {drawn} words drawn, {WORKERS} hosts, 100mbit"
        for name, each in found.items():
            report.add(case, name, [each.seconds], f"{each.mb:.3f} MB left a host")
        quicker, slower = ("rows", "whole") if few else ("whole", "rows")
        gain = found[slower].seconds / found[quicker].seconds
        report.claim(f"{case}: {quicker}, quicker", gain, 1.0)


def measure_predictions(report: Report) -> None:
    """Twelve cases, predicted from one step of each way over a link of another bandwidth."""
    for nbytes, compute in MODELS:
        steps = {
            name: measured(name, nbytes, compute, WORKERS, FITTED_OVER).seconds
            for name in (*REDUCERS, LOCAL)
        }
        schemes = {
            name: fitted(name, nbytes, compute, WORKERS, steps["float32"], seconds)
            for name, seconds in steps.items()
        }
        efficiency = rate_of(nbytes, compute, WORKERS, steps["float32"]) / rate(FITTED_OVER)
        for link in LINKS:
            measure_case(report, nbytes, compute, link, schemes, efficiency)


def measure_case(
    report: Report,
    nbytes: int,
    compute: float,
    link: str,
    schemes: dict[str, Scheme],
    efficiency: float,
) -> None:
    """One model on one link: every way's step beside its prediction."""
    found = {name: measured(name, nbytes, compute, WORKERS, link).seconds for name in schemes}
    if link == "memory":  # whose rate no cable says: from the plain step
        bandwidth = rate_of(nbytes, compute, WORKERS, found["float32"])
    else:
        bandwidth = efficiency * rate(link)
    worst = 0.0
    case = f"{nbytes // 10**6} MB, {1e3 * compute:.0f} ms, {link}"
    for name, seconds in found.items():
        told = compressed_step(schemes[name], compute, nbytes, WORKERS, 0.0, bandwidth)
        worst = max(worst, 100 * abs(told / seconds - 1))
        report.add(case, name, [seconds], f"predicted {1e3 * told:.0f} ms")
    report.claim(f"{case}: the worst prediction, off by", worst, PREDICTED, False, "%")
    if link == "memory":
        best = min((s for n, s in found.items() if n not in ("float32", LOCAL)))
        report.claim(
            f"{case}: the best way with fewer bits, quicker", found["float32"] / best, 1.0, False
        )


def trained(comm: Comm, name: str) -> list[tuple[float, float]]:
    """The losses at the end of a training for each seed."""
    return [fewer_bits.trains(comm, name, seed, STEPS) for seed in SEEDS]


def measure_losses(report: Report) -> None:
    """Losses at the end of training, and whether feedback is missed."""
    found: dict[str, list[tuple[float, float]]] = {}
    for name in WAYS:
        found[name] = helpers.run(trained, name, ranks=WORKERS, show=False, timeout=900)[0]
        test = statistics.median(each[1] for each in found[name])
        report.add("loss, digits", name, [each[0] for each in found[name]], f"test {test:.3f}")
    for name, (beside, limit) in LOSSES.items():
        ratios = [a[0] / b[0] for a, b in zip(found[name], found[beside], strict=True)]
        above = 100 * (statistics.median(ratios) - 1)
        report.claim(f"digits, {name}: training loss above {beside}'s", above, limit, False, "%")
    for name in LOST:
        pairs = zip(found[f"{name}, no feedback"], found[name], strict=True)
        worse = sum(without[0] > 1.1 * with_it[0] for without, with_it in pairs)
        report.claim(
            f"digits, {name}: seeds of {len(SEEDS)} in which no feedback is worse by a tenth",
            worse, len(SEEDS), unit="",
        )  # fmt: skip
