"""Exercise 09.1, how a speedup saturates: of N workers that sum their gradients round a ring.

The claim: N·c/(c + 2(N − 1)(α + n/(N·B))), to nine digits, and 1 for one worker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.algorithms.data_parallel.scaling import ring_speedup as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, number
from helpers.exercises.drives import plain_call
from helpers.exercises.formula import compared, wrong_number
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

Setting = tuple[int, float, float, float, float]


def cases(seed: int) -> list[Case]:
    """Seed 0: the exchange takes longer than the computing, one worker, two, many; else random."""
    random = rng(seed, "09.1")
    settings: list[Setting] = [
        (6, 0.2, 40e6, 2e-3, 125e6),
        (1, 0.2, 40e6, 2e-3, 125e6),
        (2, 0.5, 40e6, 50e-6, 1.25e9),
        (5, 1.5, 100e6, 1e-3, 250e6),
        (256, 0.2, 40e6, 50e-6, 1.25e9),
    ]
    if seed:
        settings = [(7, 0.1, 2e7, 3e-3, 1e8)]  # no term is small, whatever comes below
        for _ in range(8):
            workers, compute = int(random.integers(1, 100)), float(random.uniform(0.05, 2.0))
            nbytes, latency = float(random.uniform(1e6, 5e8)), 10 ** float(random.uniform(-5, -2))
            bandwidth = float(random.uniform(5e7, 5e9))
            settings.append((workers, compute, nbytes, latency, bandwidth))
    made = []
    for setting in settings:
        workers, compute, nbytes, latency, bandwidth = setting
        name = (
            f"With {count(workers, 'worker')}, {compute:.3g} s, {nbytes / 1e6:.4g} MB, "
            f"{latency * 1e3:.3g} ms and {bandwidth / 1e6:.4g} MB/s"
        )
        made.append(Case(name, (setting,), facts={"want": reference(*setting)}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The number, to nine digits."""
    return wrong_number(case, seen, " times as many rows")


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """The terms of the formula."""
    n, compute, nbytes, latency, _ = case.args[0]
    exchange = n * compute / case.facts["want"] - compute
    return {
        "n": n,
        "steps": 2 * (n - 1),
        "half": n - 1,
        "compute": f"{compute:.3g}",
        "share": f"{compute / n:.3g}",
        "exchange": f"{exchange:.3g}",
        "step": f"{compute + exchange:.3g}",
        "chunk": f"{nbytes / n / 1e6:.3g}",
        "whole": f"{nbytes / 1e6:.3g}",
        "latency": f"{latency * 1e3:.3g}",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    first, many = (float(number(seen[at].values[0]) or 0) for at in (0, -1))
    few, lots = (case.args[0][0] for case in (cases[0], cases[-1]))
    return (
        f"Passed: {few} workers on links of 125 MB/s take {first:.3g} times as many rows a second "
        f"as one, and {lots} on links of 1250 MB/s {many:.4g} times as many."
    )


def _exchange(n: int, nbytes: float, latency: float, bandwidth: float) -> float:
    return 2 * (n - 1) * (latency + nbytes / n / bandwidth)


def _formula(
    exchange: Callable[[int, float, float, float], float] = _exchange,
    speedup: Callable[[int, float, float], float] = lambda n, c, t: n * c / (c + t),
) -> Callable[..., float]:
    """The reference with a part exchanged; t is what `exchange` gives."""

    def ring_speedup(
        workers: int, compute: float, nbytes: float, latency: float, bandwidth: float
    ) -> float:
        return speedup(workers, compute, exchange(workers, nbytes, latency, bandwidth))

    return ring_speedup


_efficiency = _formula(speedup=lambda n, c, t: c / (c + t))
_fixed_batch = _formula(speedup=lambda n, c, t: c / (c / n + t))
_hidden = _formula(speedup=lambda n, c, t: n * c / max(c, t))
_step_seconds = _formula(speedup=lambda n, c, t: c + t)
_rows_a_second = _formula(speedup=lambda n, c, t: n / (c + t))
_fewer = _formula(speedup=lambda n, c, t: (c + t) / (n * c))
_compute_by_n = _formula(speedup=lambda n, c, t: n * c / (n * c + t))
_alone_waits = _formula(speedup=lambda n, c, t: n)
_whole_tensors = _formula(lambda n, size, a, b: 2 * (n - 1) * (a + size / b))
_one_half = _formula(lambda n, size, a, b: (n - 1) * (a + size / n / b))
_one_latency = _formula(lambda n, size, a, b: a + 2 * (n - 1) * size / n / b if n > 1 else 0.0)
_two_latencies = _formula(lambda n, size, a, b: 2 * a * (n > 1) + 2 * (n - 1) * size / n / b)
_no_latency = _formula(lambda n, size, a, b: 2 * (n - 1) * size / n / b)
_latency_by_n = _formula(lambda n, size, a, b: 2 * (n - 1) / n * (a + size / b))
_tree = _formula(lambda n, size, a, b: 2 * (n - 1).bit_length() * (a + size / b))
_no_n = _formula(lambda n, size, a, b: 2 * (n - 1) * a + 2 * size / b)
_n_steps = _formula(lambda n, size, a, b: 2 * n * (a + size / n / b))
_bits = _formula(lambda n, size, a, b: 2 * (n - 1) * (a + 8 * size / n / b))
_times_bandwidth = _formula(lambda n, size, a, b: 2 * (n - 1) * (a + size / n * b))


EXERCISE = Exercise(
    number="09.1",
    title="How a speedup saturates",
    stars=1,
    minutes=8,
    points=2,
    function="ring_speedup",
    asks=(
        "how many times as many rows a second N workers take as one, each with a batch of its own: "
        "N · compute / (compute + exchange), with the ring's exchange = "
        "2 (N − 1) (latency + nbytes / (N · bandwidth)), one after the other."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "the efficiency",
            _efficiency,
            "that is the efficiency, what of each worker's time goes into computing. The speedup "
            "is {n} times that: all {n} workers take a batch in each step.",
        ),
        WrongAnswer(
            "a batch of the same size, shared",
            _fixed_batch,
            "your workers share one batch and compute for {share} s each. Here each has a batch of "
            "its own, so it computes for all {compute} s, and a step takes {n} batches.",
        ),
        WrongAnswer(
            "the exchange behind the computing",
            _hidden,
            "your step takes the longer of computing and exchange. Nothing overlaps here: "
            "{compute} s and {exchange} s come one after the other and are added.",
        ),
        WrongAnswer(
            "the seconds of a step",
            _step_seconds,
            "that is how many seconds a step takes. In these, {n} workers take {n} batches, and "
            "one alone takes a batch in {compute} s: divide the two rates.",
        ),
        WrongAnswer(
            "batches a second",
            _rows_a_second,
            "that is how many batches a second {n} workers take. One worker takes one in {compute} "
            "s: divide by its rate, 1 / compute.",
        ),
        WrongAnswer(
            "upside down",
            _fewer,
            "your fraction is upside down: the workers' rate, {n} batches in {step} s, stands "
            "above, and that of one, a batch in {compute} s, below.",
        ),
        WrongAnswer(
            "no exchange",
            _alone_waits,
            "you say {n}: that is so only if exchanging gradients takes no time. The ring takes "
            "{exchange} s in each step.",
        ),
        WrongAnswer(
            "whole tensors in each step",
            _whole_tensors,
            "each of your ring's messages holds all {whole} MB. A ring sends one chunk at a time, "
            "nbytes / N, which is {chunk} MB.",
        ),
        WrongAnswer(
            "one half of the ring",
            _one_half,
            "your ring has {half} steps: that is its first half, reduce-scatter. The all-gather "
            "takes as many again, {steps} in all.",
        ),
        WrongAnswer(
            "one latency",
            _one_latency,
            "you count the latency once. Each of the ring's {steps} steps is a message that begins "
            "when the one before has come, so {latency} ms pass {steps} times.",
        ),
        WrongAnswer(
            "one latency each half",
            _two_latencies,
            "you count the latency twice, once for each half. Each half has {half} steps, and each "
            "is a message of its own: {latency} ms pass {steps} times.",
        ),
        WrongAnswer(
            "no latency",
            _no_latency,
            "your exchange has no latency in it: each of its {steps} messages takes {latency} ms "
            "beside its bytes.",
        ),
        WrongAnswer(
            "the latency divided by N",
            _latency_by_n,
            "you divide the latency by N too. A chunk is N times smaller and its bytes are N times "
            "quicker, but each of the {steps} messages waits for the full {latency} ms.",
        ),
        WrongAnswer(
            "a tree",
            _tree,
            "your exchange goes up a tree and down again, 2⌈log₂ N⌉ messages of all {whole} MB. A "
            "ring sends {steps}, each of {chunk} MB.",
        ),
        WrongAnswer(
            "all bytes twice",
            _no_n,
            "{whole} MB go over each link twice in your formula. That is what many workers come "
            "near to: of {n}, each sends {steps} chunks of {chunk} MB, 2(N − 1)/N of all bytes.",
        ),
        WrongAnswer(
            "the computing of all in each step",
            _compute_by_n,
            "N stands below the line too, as if the workers computed one after the other. All {n} "
            "compute at the same time: a step takes {compute} s and the exchange.",
        ),
        WrongAnswer(
            "N steps each half",
            _n_steps,
            "each half of your ring has N steps. It has N − 1, one less than there are chunks, so "
            "{steps} in all, and one worker alone exchanges nothing.",
        ),
        WrongAnswer(
            "bytes as bits",
            _bits,
            "you multiply the bytes by 8: the bandwidth is in bytes a second here, so divide the "
            "bytes as they are.",
        ),
        WrongAnswer(
            "times bandwidth",
            _times_bandwidth,
            "bytes are multiplied by the bandwidth: seconds are bytes divided by bytes a second, "
            "nbytes / N / bandwidth.",
        ),
    ),
    ranked=False,
)
