"""Exercise 09.2, one parameter server or several: the busiest link decides.

The claim: 2·(α + max(N/S, 1)·n/B), to nine digits.
"""

from collections.abc import Sequence
from typing import Any

from helpers.checks.compare import count, number
from helpers.checks.drives.calling import plain_call
from helpers.checks.nine_digits import compared, wrong_number
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.bandwidth.algorithms.scaling import server_seconds as reference


def cases(seed: int) -> list[Case]:
    """Seed 0: more servers than workers, full servers, one of each, as many; else random."""
    random = rng(seed, "09.2")
    settings: list[tuple[int, int, float, float, float]] = [
        (3, 7, 40e6, 5e-3, 125e6), (20, 3, 40e6, 5e-3, 125e6), (1, 1, 40e6, 5e-3, 125e6),
        (5, 1, 100e6, 1e-3, 1.25e9), (4, 4, 100e6, 1e-3, 1.25e9), (100, 8, 40e6, 50e-6, 1.25e9),
        (4, 2, 2.5e6, 0.0, 25e6), (8, 7, 2.5e6, 1e-3, 25e6),
    ]  # fmt: skip
    if seed:
        # One where the servers' links are full and one where they are not, whatever comes below.
        settings = [(3, 8, 3e7, 4e-3, 1e8), (9, 2, 3e7, 4e-3, 1e8), (9, 8, 3e7, 4e-3, 1e8)]
        for _ in range(8):
            workers, servers = int(random.integers(1, 60)), int(random.integers(1, 30))
            nbytes, latency = float(random.uniform(1e6, 5e8)), 10 ** float(random.uniform(-5, -2))
            settings.append((workers, servers, nbytes, latency, float(random.uniform(5e7, 5e9))))
    made = []
    for setting in settings:
        workers, servers, nbytes, latency, bandwidth = setting
        name = (
            f"With {count(workers, 'worker')}, {count(servers, 'server')}, {nbytes / 1e6:.4g} MB, "
            f"{latency * 1e3:.3g} ms and {bandwidth / 1e6:.4g} MB/s"
        )
        made.append(Case(name, (setting,), facts={"want": reference(*setting)}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The number, to nine digits."""
    return wrong_number(case, seen, " s", " s")


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """Bytes over each kind of link, and their seconds."""
    n, servers, nbytes, latency, bandwidth = case.args[0]
    found = {"part": nbytes / servers / 1e6, "whole": nbytes / 1e6, "own": nbytes / bandwidth}
    found |= {"load": n / servers * nbytes / 1e6, "full": n / servers * nbytes / bandwidth}
    words = {name: f"{value:.3g}" for name, value in {**found, "latency": latency * 1e3}.items()}
    return {"n": n, "workers": count(n, "worker"), "servers": count(servers, "server"), **words}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    few, many = (float(number(seen[at].values[0]) or 0) for at in (0, 1))
    return (
        f"Passed: 20 workers at 3 servers take {many:.3g} s, where the servers' links are full, "
        f"and 3 workers at 7 servers {few:.3g} s, where their own are."
    )


WRONG = """
one server for everybody
    | max(workers / servers, 1) => workers
    all {n} workers' bytes go over one link in your formula. There are {servers}, each with {part}
    MB and a link of its own: {load} MB go over that each way, and {whole} MB over a worker's. Take
    the larger.
the servers' links alone
    | max(workers / servers, 1) => workers / servers
    you take {load} MB, which each of {servers} sends. But every worker takes all {whole} MB over
    its own link: the busiest link decides, so take the larger of the two.
a worker's link alone
    | max(workers / servers, 1) => 1
    you look at a worker's link, with {whole} MB each way. A server's carries {load} MB, its part
    for each of {workers}: the busiest link decides, so take the larger of the two.
a worker takes one part
    | max(workers / servers, 1) => 1 / servers
    only one server's part, {part} MB, goes over the busiest link in your formula. A worker takes
    the parts of all {servers}, and a server gives its part to {workers}.
both links added
    | max(workers / servers, 1) => (workers / servers + 1)
    you add the seconds of a server's link, {full} s, and of a worker's, {own} s. Bytes pass both at
    the same time, so the slower of the two decides: take the larger.
servers counted twice
    | workers / servers => workers / servers / servers
    you divide by the servers twice. Each has {part} MB, one part, and gives it to all {workers},
    not to a part of them: {load} MB each way.
upside down
    | workers / servers => servers / workers
    you take servers over workers. A server's link carries the more the more workers there are: N /
    S times all bytes.
a whole number of workers a server
    | workers / servers => -(-workers // servers)
    you round N / S up to whole workers. Workers do not choose a server: all {workers} take a part
    of every server, whose link carries {load} MB each way.
workers over servers cut off
    | workers / servers => workers // servers
    `//` cuts N / S off to a whole number. Each of {servers} gives its part to all {workers}, {load}
    MB each way: use `/`.
one way
    | return 2 * => return
    you count one way. The workers pull the weights and then push gradients, which are as large:
    both the bytes and the latency come twice.
one latency
    | 2 * (latency + max => (latency + 2 * max
    you count the latency once. Pull and push are two messages, one after the other: {latency} ms
    pass twice.
the bytes of one way
    | 2 * (latency => (2 * latency
    you count two latencies, but the bytes of one way alone: the weights come and the gradients go,
    and these are as large.
no latency
    | latency + max => max
    there is no latency in your number: pull and push each take {latency} ms beside their bytes.
a latency a worker of the server
    | (latency + max(workers / servers, 1) * => max(workers / servers, 1) * (latency +
    your latency grows with the workers. Their messages are all under way at the same time and share
    only the link: {latency} ms pass once each way.
a latency a worker
    | (latency + => (workers * latency +
    ! a latency a worker of the server
a latency a server
    | (latency + => (servers * latency +
    your latency grows with the servers. A worker's messages from all {servers} are under way at the
    same time and share only its link: {latency} ms pass once each way.
one worker on the server's host
    | workers / servers => (workers - 1) / servers
    you count one worker less, as if one shared the server's host. Servers have hosts of their own
    here, so the parts of all {workers} go over a server's link.
bytes as bits
    | * nbytes => * 8 * nbytes
    you multiply the bytes by 8: the bandwidth is in bytes a second here, so divide the bytes as
    they are.
times bandwidth
    | nbytes / bandwidth => nbytes * bandwidth
    bytes are multiplied by the bandwidth: seconds are bytes divided by bytes a second.
"""

EXERCISE = Exercise(
    number="09.2",
    title="One server or several",
    size=Size(stars=2, minutes=10, points=2),
    function="server_seconds",
    asks=(
        "the seconds in which N workers pull all weights from S servers and then push all "
        "gradients: 2 · (latency + bytes / bandwidth), with the bytes that one way brings over the "
        "busiest link, N/S · nbytes at a server or nbytes at a worker."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("09.2", WRONG, reference),
    ranked=False,
)
