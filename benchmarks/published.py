"""Published figures recomputed on the clock, with the error of every point.

python -m benchmarks.published, or ./course bench published [--json]

Each entry of helpers/notebook/published.json is either a `Series` here, which says what it is
computed from and what it assumes, or stands under ELSEWHERE with the reason why not. A lesson
that can recompute one more adds a Series.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks import failure_shares
from benchmarks.arrivals import asynchronous
from benchmarks.inception_cluster import (
    FITTED_AT,
    SLOWER,
    images_a_second,
    median_step,
)
from benchmarks.order_statistics import (
    best,
    hours,
    mean_times_to_kth,
    rule_hours,
    times_to_kth,
)
from benchmarks.report import Report
from benchmarks.series import Point, Series
from helpers.lessons.pipelines.algorithms.schedules import gpipe
from helpers.lessons.pipelines.experiments import gpipe_clock
from helpers.lessons.spare_replicas.experiments.stragglers import FittedStragglers
from helpers.notebook.published import load

WORKERS, STEPS = 100, 40_000


def mean_times(seed: int) -> Iterator[Point]:
    """The mean time to the k-th gradient: 5 % for k ≤ 98, 15 % above."""
    found = mean_times_to_kth(FittedStragglers(), WORKERS, STEPS, seed)
    for k, seconds in load("chen2017_fig4_mean_t_k_of_100_s").data.items():
        yield Point(f"k = {k}", found[int(k) - 1], seconds, 0.05 if int(k) <= 98 else 0.15)


def last_arrivals(seed: int) -> Iterator[Point]:
    """How often all 100 gradients have arrived by then."""
    last = times_to_kth(FittedStragglers(), WORKERS, WORKERS, STEPS, seed)
    for seconds, share in load("chen2017_fig3_cdf_k100").data.items():
        yield Point(
            f"within {seconds} s", float(np.mean(last <= float(seconds))), share, 0.07, False
        )


def within_two_seconds(seed: int) -> Iterator[Point]:
    """The two shares that the text prints."""
    for k, share in ((98, 0.80), (100, 0.30)):
        times = times_to_kth(FittedStragglers(), k, WORKERS, STEPS, seed)
        yield Point(f"{k}th within 2 s", float(np.mean(times <= 2)), share, 0.07, False)


def quantiles(seed: int) -> Iterator[Point]:
    """Quantiles of the time to the k-th gradient, which say more than the text's two shares."""
    for name, published in load("chen2017_fig3_quantiles_s").data.items():
        times = times_to_kth(FittedStragglers(), int(name[1:]), WORKERS, STEPS, seed)
        found = np.quantile(times, [float(q) for q in published])
        for (q, seconds), ours in zip(published.items(), found, strict=True):
            yield Point(f"k = {name[1:]}, quantile {q}", ours, seconds)
    yield from within_two_seconds(seed)


def spare_hours(seed: int) -> Iterator[Point]:
    """Hours to converge over N at N + b = 100, and the best N: by the formula, by the rule."""
    data = load("chen2017_fig6_hours").data
    found = hours(FittedStragglers(), WORKERS, STEPS, seed)
    for n, published in data.items():
        yield Point(f"N = {n}", found[int(n)], published, 0.10)
    yield Point("best N", best(found), 96, 1, False)
    run = rule_hours(FittedStragglers(), map(int, data), seed=seed)
    for n, published in data.items():
        yield Point(f"N = {n}, the rule on the clock", run[int(n)], published, 0.10)
    yield Point("best N of these, the rule on the clock", best(run), 96, None, False)


def throughput(seed: int) -> Iterator[Point]:
    """Images a second of asynchronous and synchronous workers; 15 % but where one was fitted."""
    data = load("abadi2016_fig8_throughput").data
    for kind, name in (("asynchronous", "async"), ("synchronous", "sync")):
        for workers, theirs in zip(data["workers"], data[f"{name}_images_s"], strict=True):
            fitted = (kind, workers) == FITTED_AT
            label = f"{workers} {kind}" + (", fitted here" if fitted else "")
            ours = images_a_second(kind, workers, seed)
            yield Point(label, ours, theirs, None if fitted else 0.15)


def spare_steps(seed: int) -> Iterator[Point]:
    """Median step of 50 workers and b spare ones on the same cluster, with nothing fitted anew."""
    published = load("abadi2016_fig8_spares").data
    found = [median_step(spare, seed) for spare in published["spare"]]
    for b, (ours, theirs) in enumerate(zip(found, published["median_step_s"], strict=True)):
        yield Point(f"b = {b}: median step", ours, theirs, 0.10)
    for b, theirs in enumerate(published["normalised_speedup"]):
        yield Point(f"b = {b}: speedup by machines", found[0] / found[b] * 50 / (50 + b), theirs)


def staleness(seed: int) -> Iterator[Point]:
    """Staleness of the first layer of 40 asynchronous workers."""
    workers, rounds = 40, 2_000
    table = FittedStragglers().draw(rounds, workers, np.random.default_rng(seed))
    found = asynchronous(table).staleness[10 * workers :]  # once the start is forgotten
    published = load("chen2017_table1_staleness_40_workers").data["L0"]
    yield Point("N − 1", found.mean(), workers - 1, 0.10)
    yield Point("mean", found.mean(), published["mean"], 0.10)
    yield Point("median", float(np.median(found)), published["median"], 0.10)
    yield Point("standard deviation", found.std(), published["sd"])


def other_sizes(seed: int) -> Iterator[Point]:
    """Time of an iteration and hours with 53, 106 and 212 workers, 6 % of them spare."""
    data = load("chen2017_fig8").data
    for i, workers in enumerate(data["workers"]):
        step = mean_times_to_kth(FittedStragglers(), workers, STEPS // 4, seed)[_of(workers) - 1]
        alone = FittedStragglers().draw(STEPS // 4, workers, np.random.default_rng(seed)).mean()
        allowed = 0.10 if workers < 200 else None
        yield Point(f"{workers}: s an iteration, sync", step, data["sync_epoch_s"][i], allowed)
        yield Point(f"{workers}: s an iteration, async", alone, data["async_epoch_s"][i], allowed)
        for kind, seconds in (("sync", step), ("async", alone)):
            ours = data[f"{kind}_kepochs"][i] * seconds / 3.6
            yield Point(f"{workers}: hours, {kind}", ours, data[f"{kind}_h"][i], allowed)


def pipelined(seed: int) -> Iterator[Point]:
    """Throughput of GPipe's Transformer by microbatches (M) and devices (K)."""
    found, entry = (
        gpipe_clock.speedups(gpipe_clock.FITTED, gpipe),
        load("gpipe_table2_speedup").data,
    )
    for row, values in entry["transformer"].items():
        for devices, ours, printed in zip(entry["devices"], found[row], values, strict=True):
            yield Point(f"M = {row[1:]}, K = {devices}", ours, printed, 0.15)


def _of(workers: int) -> int:
    """N of N + b: 50, 100 and 200 of 53, 106 and 212."""
    return round(workers / 1.06)


FITTED = "the straggler model, which was fitted to it: how well the model can follow the data"
SERIES = (
    Series("chen2017_fig4_mean_t_k_of_100_s", "s", FITTED, mean_times),
    Series("chen2017_fig3_cdf_k100", "share of steps", FITTED, last_arrivals),
    Series("chen2017_fig3_quantiles_s", "s, share of steps", FITTED, quantiles),
    Series(
        "chen2017_fig6_hours",
        "h",
        "the straggler model and the published iterations (figure 5), straight lines between its "
        "points, times the mean time to the N-th gradient or the mean step of the rule on the "
        "clock; the hours themselves were not fitted",
        spare_hours,
    ),
    Series(
        "abadi2016_fig8_throughput",
        "images a second",
        "workers, links and servers on the clock, without gradients, as "
        "inception_cluster.py beside this one assumes them with its reasons: links of 10 Gbit/s, "
        "servers that move 5 GB/s through memory, a third of the bytes waited for, the straggler "
        "model without its one slow machine and its hangs; one number was fitted, how much longer "
        f"all of its seconds are ({SLOWER:g} times), at {FITTED_AT[1]} {FITTED_AT[0]} workers",
        throughput,
    ),
    Series(
        "abadi2016_fig8_spares",
        "s, speedup",
        "the same cluster with the same number, and nothing fitted here: the rule of spare "
        "replicas on the clock. Without spare ones ours is quicker than the figure, and slower "
        "than the throughput of 50 synchronous workers beside it, which says 2.05 s a step",
        spare_steps,
    ),
    Series(
        "chen2017_table1_staleness_40_workers",
        "updates",
        "the straggler model and 40 asynchronous workers on links that cost nothing; the paper's "
        "first layer alone, since later layers are pulled later and pushed sooner, which one "
        "gradient a step does not show",
        staleness,
    ),
    Series(
        "chen2017_fig8",
        "s, h",
        "the straggler model for other numbers of workers, N = 50, 100 and 200 of 53, 106 and 212 "
        "(assumed), and the published iterations; at 212 the paper's servers are saturated, for "
        "which it prints no sizes, so those points are shown and held to nothing",
        other_sizes,
    ),
    Series(
        "gpipe_table2_speedup",
        "times K = 2, M = 1",
        "GPipe's schedule on the clock, equal layers, free links, and two numbers fitted to this "
        "very table: a sample's time falls as b^-0.28 with the samples b of a microbatch, which "
        "grow with the devices up to a batch of 64",
        pipelined,
    ),
    *failure_shares.SERIES,
)

TRAINED = "needs their model and data, and days of training; lesson 06 measures the same on digits"
LATER = "is of a lesson still to come"
ELSEWHERE = {
    "chen2017_fig2_mnist_err_pct": TRAINED,
    "chen2017_fig5_kiter": "is what goes in, not what comes out",
    "chen2017_table2_lr": "needs ImageNet to be trained on",
    "chen2016_tab1": "gives hours, but neither the iterations nor the times of a step",
    "chen2016_fig1": "needs ImageNet to be trained on",
    "distbelief_fig3": "gives neither the sizes of messages nor the times of the parts",
    "distbelief_fig5_machines_hours": "gives neither updates nor the times of a step",
    "geron_speedups": "gives neither models nor links",
    "a3c_table2_speedup_by_threads": "needs Atari games to be trained on",
    "horovod_scaling_efficiency_pct": "gives no times of a step; " + LATER,
    "goyal2017_table1_top1_error": "needs ImageNet to be trained on",
    "zero_memory_gb_7.5B": "is memory, which no clock tells; " + LATER,
    "jacob2018_int8_top1": "needs ImageNet to be trained on",
    "tflite_top1_float_ptq_qat": "needs ImageNet to be trained on",
    "lin2025_stragglers": "needs the traces of that cluster",
    "lin2025_injected": "needs the traces of that cluster",
    **failure_shares.ELSEWHERE,
}


def report_of(found: dict[str, list[Point]]) -> Report:
    """A report with every point, the worst of each series held, and what is left out."""
    report = Report("published", "Published figures, recomputed")
    for series in SERIES:
        points = found[series.entry]
        for point in points:
            known = {**point._asdict(), "error": point.error, "holds": point.holds}
            report.points.append({"series": series.entry, **known})
        held = [point for point in points if point.within is not None]
        worst = max(held, key=lambda point: abs(point.error) / (point.within or 1))
        text = f"{load(series.entry).title}: worst error ({worst.label})"
        unit, scale = (" %", 100.0) if worst.relative else ("", 1.0)
        limit = scale * (worst.within or 0)
        report.claim(text, scale * abs(worst.error), limit, at_least=False, unit=unit)
        entry = load(series.entry)
        said = f"{entry.title} ({series.unit}): {entry.label}. From {series.given}."
        report.notes.append(said)
    report.notes += [
        f"Not here: {load(name).title} ({name}): it {reason}." for name, reason in ELSEWHERE.items()
    ]
    return report


def recompute(series: Series, seed: int = 0) -> list[Point]:
    """Every point of a series."""
    return [Point(p.label, float(p.ours), *p[2:]) for p in series.points(seed)]


def measure(seed: int = 0) -> Report:
    """Every point of every series."""
    return report_of({series.entry: recompute(series, seed) for series in SERIES})


if __name__ == "__main__":
    from benchmarks.run import main

    raise SystemExit(main("published"))
