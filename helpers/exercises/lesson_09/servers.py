"""Exercise 09.2, one parameter server or several: the busiest link decides.

The claim: 2·(α + max(N/S, 1)·n/B), to nine digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from helpers.algorithms.data_parallel.scaling import server_seconds as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, number
from helpers.exercises.drives import plain_call
from helpers.exercises.formula import compared, wrong_number
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

Setting = tuple[int, int, float, float, float]


def cases(seed: int) -> list[Case]:
    """Seed 0: more servers than workers, full servers, one of each, as many; else random."""
    random = rng(seed, "09.2")
    settings: list[Setting] = [
        (3, 7, 40e6, 5e-3, 125e6),
        (20, 3, 40e6, 5e-3, 125e6),
        (1, 1, 40e6, 5e-3, 125e6),
        (5, 1, 100e6, 1e-3, 1.25e9),
        (4, 4, 100e6, 1e-3, 1.25e9),
        (100, 8, 40e6, 50e-6, 1.25e9),
    ]
    if seed:
        # One where the servers' links are full and one where they are not, whatever comes below.
        settings = [(3, 8, 3e7, 4e-3, 1e8), (9, 2, 3e7, 4e-3, 1e8)]
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
    return {
        "n": n,
        "workers": count(n, "worker"),
        "servers": count(servers, "server"),
        "part": f"{nbytes / servers / 1e6:.3g}",
        "load": f"{n / servers * nbytes / 1e6:.3g}",
        "whole": f"{nbytes / 1e6:.3g}",
        "own": f"{nbytes / bandwidth:.3g}",
        "full": f"{n / servers * nbytes / bandwidth:.3g}",
        "latency": f"{latency * 1e3:.3g}",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    few, many = (float(number(seen[at].values[0]) or 0) for at in (0, 1))
    return (
        f"Passed: 20 workers at 3 servers take {many:.3g} s, where the servers' links are full, "
        f"and 3 workers at 7 servers {few:.3g} s, where their own are."
    )


def _formula(
    busiest: Callable[[int, int], float] = lambda n, s: max(n / s, 1),
    seconds: Callable[[float, float], float] = lambda latency, wire: 2 * (latency + wire),
) -> Callable[..., float]:
    """The reference with a part exchanged. busiest: how often all bytes cross the busiest link, of
    workers and servers. seconds: of both ways, of the latency and one way's time on that link."""

    def server_seconds(
        workers: int, servers: int, nbytes: float, latency: float, bandwidth: float
    ) -> float:
        return seconds(latency, busiest(workers, servers) * nbytes / bandwidth)

    return server_seconds


_no_max = _formula(lambda n, s: n / s)
_one_server = _formula(lambda n, s: n)
_own_link = _formula(lambda n, s: 1)
_own_part = _formula(lambda n, s: 1 / s)
_sum = _formula(lambda n, s: n / s + 1)
_twice_divided = _formula(lambda n, s: max(n / s / s, 1))
_upside_down = _formula(lambda n, s: max(s / n, 1))
_whole_workers = _formula(lambda n, s: max(math.ceil(n / s), 1))
_floored = _formula(lambda n, s: max(n // s, 1))
_others = _formula(lambda n, s: max((n - 1) / s, 1))
_one_way = _formula(seconds=lambda latency, wire: latency + wire)
_one_latency = _formula(seconds=lambda latency, wire: latency + 2 * wire)
_one_transfer = _formula(seconds=lambda latency, wire: 2 * latency + wire)
_no_latency = _formula(seconds=lambda latency, wire: 2 * wire)
_bits = _formula(seconds=lambda latency, wire: 2 * (latency + 8 * wire))


def _latency_each(
    workers: int, servers: int, nbytes: float, latency: float, bandwidth: float
) -> float:
    return 2 * max(workers / servers, 1) * (latency + nbytes / bandwidth)


def _latency_each_worker(
    workers: int, servers: int, nbytes: float, latency: float, bandwidth: float
) -> float:
    return 2 * (workers * latency + max(workers / servers, 1) * nbytes / bandwidth)


def _latency_each_server(
    workers: int, servers: int, nbytes: float, latency: float, bandwidth: float
) -> float:
    return 2 * (servers * latency + max(workers / servers, 1) * nbytes / bandwidth)


def _times_bandwidth(
    workers: int, servers: int, nbytes: float, latency: float, bandwidth: float
) -> float:
    return 2 * (latency + max(workers / servers, 1) * nbytes * bandwidth)


_AT_ONCE = (
    "your latency grows with the workers. Their messages are all under way at the same time and "
    "share only the link: {latency} ms pass once each way."
)

EXERCISE = Exercise(
    number="09.2",
    title="One server or several",
    stars=2,
    minutes=10,
    points=2,
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
    wrong=(
        WrongAnswer(
            "one server for everybody",
            _one_server,
            "all {n} workers' bytes go over one link in your formula. There are {servers}, each "
            "with {part} MB and a link of its own: {load} MB go over that each way, and {whole} MB "
            "over a worker's. Take the larger.",
        ),
        WrongAnswer(
            "the servers' links alone",
            _no_max,
            "you take {load} MB, which each of {servers} sends. But every worker takes all {whole} "
            "MB over its own link: the busiest link decides, so take the larger of the two.",
        ),
        WrongAnswer(
            "a worker's link alone",
            _own_link,
            "you look at a worker's link, with {whole} MB each way. A server's carries {load} MB, "
            "its part for each of {workers}: the busiest link decides, so take the larger of the "
            "two.",
        ),
        WrongAnswer(
            "a worker takes one part",
            _own_part,
            "only one server's part, {part} MB, goes over the busiest link in your formula. A "
            "worker takes the parts of all {servers}, and a server gives its part to {workers}.",
        ),
        WrongAnswer(
            "both links added",
            _sum,
            "you add the seconds of a server's link, {full} s, and of a worker's, {own} s. Bytes "
            "pass both at the same time, so the slower of the two decides: take the larger.",
        ),
        WrongAnswer(
            "servers counted twice",
            _twice_divided,
            "you divide by the servers twice. Each has {part} MB, one part, and gives it to all "
            "{workers}, not to a part of them: {load} MB each way.",
        ),
        WrongAnswer(
            "upside down",
            _upside_down,
            "you take servers over workers. A server's link carries the more the more workers "
            "there are: N / S times all bytes.",
        ),
        WrongAnswer(
            "a whole number of workers a server",
            _whole_workers,
            "you round N / S up to whole workers. Workers do not choose a server: all {workers} "
            "take a part of every server, whose link carries {load} MB each way.",
        ),
        WrongAnswer(
            "workers over servers cut off",
            _floored,
            "`//` cuts N / S off to a whole number. Each of {servers} gives its part to all "
            "{workers}, {load} MB each way: use `/`.",
        ),
        WrongAnswer(
            "one way",
            _one_way,
            "you count one way. The workers pull the weights and then push gradients, which are as "
            "large: both the bytes and the latency come twice.",
        ),
        WrongAnswer(
            "one latency",
            _one_latency,
            "you count the latency once. Pull and push are two messages, one after the other: "
            "{latency} ms pass twice.",
        ),
        WrongAnswer(
            "the bytes of one way",
            _one_transfer,
            "you count two latencies, but the bytes of one way alone: the weights come and the "
            "gradients go, and these are as large.",
        ),
        WrongAnswer(
            "no latency",
            _no_latency,
            "there is no latency in your number: pull and push each take {latency} ms beside their "
            "bytes.",
        ),
        WrongAnswer("a latency a worker of the server", _latency_each, _AT_ONCE),
        WrongAnswer("a latency a worker", _latency_each_worker, _AT_ONCE),
        WrongAnswer(
            "a latency a server",
            _latency_each_server,
            "your latency grows with the servers. A worker's messages from all {servers} are under "
            "way at the same time and share only its link: {latency} ms pass once each way.",
        ),
        WrongAnswer(
            "one worker on the server's host",
            _others,
            "you count one worker less, as if one shared the server's host. Servers have hosts of "
            "their own here, so the parts of all {workers} go over a server's link.",
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
            "bytes are multiplied by the bandwidth: seconds are bytes divided by bytes a second.",
        ),
    ),
    ranked=False,
)
