"""Exercise 09.1, how a speedup saturates: of N workers that sum their gradients round a ring.

The claim: N·c/(c + 2(N − 1)(α + n/(N·B))), to nine digits, and 1 for one worker.
"""

from collections.abc import Sequence
from typing import Any

from helpers.checks.compare import count, number
from helpers.checks.drives.calling import plain_call
from helpers.checks.nine_digits import compared, wrong_number
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.bandwidth.algorithms.scaling import ring_speedup as reference


def cases(seed: int) -> list[Case]:
    """Seed 0: the exchange takes longer than the computing, one worker, two, three of the lesson
    that are slower than one, many; else random."""
    random = rng(seed, "09.1")
    settings: list[tuple[int, float, float, float, float]] = [
        (6, 0.2, 40e6, 2e-3, 125e6), (1, 0.2, 40e6, 2e-3, 125e6), (2, 0.5, 40e6, 50e-6, 1.25e9),
        (5, 1.5, 100e6, 1e-3, 250e6), (3, 0.05, 2.5e6, 0.0, 25e6), (256, 0.2, 40e6, 50e-6, 1.25e9),
    ]  # fmt: skip
    if seed:
        # No term is small, or it is slower than one worker, whatever comes below.
        settings = [(7, 0.1, 2e7, 3e-3, 1e8), (3, 0.02, 1e7, 1e-3, 2e7)]
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
    found = {"compute": compute, "share": compute / n, "latency": latency * 1e3}
    found |= {"exchange": exchange, "step": compute + exchange}
    found |= {"chunk": nbytes / n / 1e6, "whole": nbytes / 1e6}
    words = {name: f"{value:.3g}" for name, value in found.items()}
    return {"n": n, "steps": 2 * (n - 1), "half": n - 1, **words}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    first, many = (float(number(seen[at].values[0]) or 0) for at in (0, -1))
    few, lots = (case.args[0][0] for case in (cases[0], cases[-1]))
    return (
        f"Passed: {few} workers on links of 125 MB/s take {first:.3g} times as many rows a second "
        f"as one, and {lots} on links of 1250 MB/s {many:.4g} times as many."
    )


def ring(n: int, compute: float, nbytes: float, latency: float, bandwidth: float) -> float:
    """The speedup with the ring written out, for patches."""
    steps, chunk = 2 * (n - 1), nbytes / n
    exchange = steps * (latency + chunk / bandwidth)
    return n * compute / (compute + exchange)


WRONG = """
the efficiency
    | n * compute / => compute /
    that is the efficiency, what of each worker's time goes into computing. The speedup is {n} times
    that: all {n} workers take a batch in each step.
a batch of the same size, shared
    | n * compute / (compute => compute / (compute / n
    your workers share one batch and compute for {share} s each. Here each has a batch of its own,
    so it computes for all {compute} s, and a step takes {n} batches.
the exchange behind the computing
    | (compute + exchange) => max(compute, exchange)
    your step takes the longer of computing and exchange. Nothing overlaps here: {compute} s and
    {exchange} s come one after the other and are added.
the seconds of a step
    | n * compute / (compute + exchange) => compute + exchange
    that is how many seconds a step takes. In these, {n} workers take {n} batches, and one alone
    takes a batch in {compute} s: divide the two rates.
batches a second
    | n * compute => n
    that is how many batches a second {n} workers take. One worker takes one in {compute} s: divide
    by its rate, 1 / compute.
upside down
    | n * compute / (compute + exchange) => (compute + exchange) / (n * compute)
    your fraction is upside down: the workers' rate, {n} batches in {step} s, stands above, and that
    of one, a batch in {compute} s, below.
no exchange
    | n * compute / (compute + exchange) => n
    you say {n}: that is so only if exchanging gradients takes no time. The ring takes {exchange} s
    in each step.
whole tensors in each step
    | chunk / bandwidth => nbytes / bandwidth
    each of your ring's messages holds all {whole} MB. A ring sends one chunk at a time, nbytes / N,
    which is {chunk} MB.
one half of the ring
    | 2 * (n - 1) => n - 1
    your ring has {half} steps: that is its first half, reduce-scatter. The all-gather takes as many
    again, {steps} in all.
one latency
    | steps * (latency + chunk / bandwidth) => (latency + steps * chunk / bandwidth) * (n > 1)
    you count the latency once. Each of the ring's {steps} steps is a message that begins when the
    one before has come, so {latency} ms pass {steps} times.
one latency each half
    | steps * (latency => 2 * (n > 1) * latency + steps * (0
    you count the latency twice, once for each half. Each half has {half} steps, and each is a
    message of its own: {latency} ms pass {steps} times.
no latency
    | latency + chunk => chunk
    your exchange has no latency in it: each of its {steps} messages takes {latency} ms beside its
    bytes.
the latency divided by N
    | (latency + => (latency / n +
    you divide the latency by N too. A chunk is N times smaller and its bytes are N times quicker,
    but each of the {steps} messages waits for the full {latency} ms.
a tree
    | 2 * (n - 1) => 2 * (n - 1).bit_length()
    | chunk / bandwidth => nbytes / bandwidth
    your exchange goes up a tree and down again, 2⌈log₂ N⌉ messages of all {whole} MB. A ring sends
    {steps}, each of {chunk} MB.
all bytes twice
    | steps * (latency + chunk / bandwidth) => steps * latency + 2 * nbytes / bandwidth
    {whole} MB go over each link twice in your formula. That is what many workers come near to: of
    {n}, each sends {steps} chunks of {chunk} MB, 2(N − 1)/N of all bytes.
the computing of all in each step
    | (compute + => (n * compute +
    N stands below the line too, as if the workers computed one after the other. All {n} compute at
    the same time: a step takes {compute} s and the exchange.
N steps each half
    | 2 * (n - 1) => 2 * n
    each half of your ring has N steps. It has N − 1, one less than there are chunks, so {steps} in
    all, and one worker alone exchanges nothing.
bytes as bits
    | + chunk => + 8 * chunk
    you multiply the bytes by 8: the bandwidth is in bytes a second here, so divide the bytes as
    they are.
times bandwidth
    | chunk / bandwidth => chunk * bandwidth
    bytes are multiplied by the bandwidth: seconds are bytes divided by bytes a second, nbytes / N /
    bandwidth.
"""

EXERCISE = Exercise(
    number="09.1",
    title="How a speedup saturates",
    size=Size(stars=1, minutes=8, points=2),
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
    wrong=wrong_answers("09.1", WRONG, ring),
    ranked=False,
)
