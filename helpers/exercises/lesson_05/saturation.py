"""Exercise 05.3, how many gradients a second the servers' links let through.

`gradients_per_second(workers, servers, nbytes, compute, bandwidth) -> float`: N workers, S servers
that each hold nbytes/S, links of B bytes/s into and out of each server. A worker's round alone
takes compute + 2·nbytes/(S·B); a link carries S·B/nbytes gradients a second. The slower of the two
decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, number, short
from helpers.exercises.drives import plain_call
from helpers.exercises.spec import Case, Exercise, Look, Mistake, Observation, WrongAnswer

Setting = tuple[int, int, float, float, float]


def cases(seed: int) -> list[Case]:
    """Seed 0: the lesson's first run, then one worker, more servers, a quick link; else random."""
    random = rng(seed, "05.3")
    settings: list[Setting] = [
        (8, 1, 244e6, 1.0, 125e6),
        (1, 1, 244e6, 1.0, 125e6),
        (2, 4, 244e6, 1.0, 125e6),
        (5, 3, 40e6, 0.5, 1.25e9),
        (40, 2, 244e6, 1.0, 125e6),
        (100, 16, 244e6, 1.0, 125e6),
    ]
    if seed:
        # Two where the links are full and one where they are not, whatever comes below.
        settings = [(9, 1, 2e8, 0.3, 1.25e8), (64, 2, 2e8, 0.3, 1.25e8), (3, 2, 1e7, 1.0, 1.25e9)]
        for _ in range(8):
            workers, servers = int(random.integers(1, 200)), int(random.integers(1, 20))
            nbytes, compute = float(random.uniform(1e6, 1e9)), float(random.uniform(0.05, 3.0))
            settings.append((workers, servers, nbytes, compute, float(random.uniform(5e7, 1e10))))
    made = []
    for setting in settings:
        workers, servers, nbytes, compute, bandwidth = setting
        name = (
            f"With {count(workers, 'worker')}, {count(servers, 'server')}, {nbytes / 1e6:.4g} MB, "
            f"{compute:.3g} s and {bandwidth / 1e6:.4g} MB/s"
        )
        facts = {
            "want": reference(*setting),
            "known": {name: rule(*setting) for name, rule in KNOWN.items()},
            "seconds": nbytes / servers / bandwidth,
        }
        made.append(Case(name, (setting,), facts=facts))
    return made


def _equal(got: Any, want: float) -> bool:
    rate = number(got)
    return rate is not None and abs(rate - want) <= 1e-9 * abs(want)


def claim(case: Case, seen: Observation) -> str | None:
    """The number, to nine digits."""
    got, want = seen.values[0], case.facts["want"]
    if number(got) is None:
        return f"{case.name}, your function gave {describe(got)}; a number was asked for."
    if not _equal(got, want):
        return f"{case.name}, you say {describe(got)} gradients/s; it should be {short(want)}."
    return None


def _by_rule(name: str, words: str) -> Look:
    def look(case: Case, seen: Observation) -> str | None:
        if not _equal(seen.values[0], case.facts["known"][name]):
            return None
        return f"{case.name}, {words}"

    return look


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    first, alone = (float(number(each.values[0]) or 0) for each in seen[:2])
    return (
        f"Passed: 8 workers behind one link give {first:.3g} gradients/s, one worker there gives "
        f"{alone:.3g}. The link is full."
    )


def reference(workers: int, servers: int, nbytes: float, compute: float, bandwidth: float) -> float:
    """The course's own."""
    transfer = nbytes / servers / bandwidth
    return min(workers / (compute + 2 * transfer), 1 / transfer)


def no_limit(workers: int, servers: int, nbytes: float, compute: float, bandwidth: float) -> float:
    """Workers never meet at the link."""
    return workers / (compute + 2 * nbytes / servers / bandwidth)


def one_way(workers: int, servers: int, nbytes: float, compute: float, bandwidth: float) -> float:
    """Forgets the pull."""
    transfer = nbytes / servers / bandwidth
    return min(workers / (compute + transfer), 1 / transfer)


def one_server(
    workers: int, servers: int, nbytes: float, compute: float, bandwidth: float
) -> float:
    """All bytes go through one link."""
    return reference(workers, 1, nbytes, compute, bandwidth)


def half_duplex(
    workers: int, servers: int, nbytes: float, compute: float, bandwidth: float
) -> float:
    """Pushes and pulls share a link."""
    transfer = nbytes / servers / bandwidth
    return min(workers / (compute + 2 * transfer), 1 / (2 * transfer))


def only_the_link(
    workers: int, servers: int, nbytes: float, compute: float, bandwidth: float
) -> float:
    """The link is always full."""
    return servers * bandwidth / nbytes


def seconds(workers: int, servers: int, nbytes: float, compute: float, bandwidth: float) -> float:
    """The time of a gradient and not gradients a second."""
    return 1 / reference(workers, servers, nbytes, compute, bandwidth)


def servers_twice(
    workers: int, servers: int, nbytes: float, compute: float, bandwidth: float
) -> float:
    """S/t for 1/t, where the servers are in t already."""
    transfer = nbytes / servers / bandwidth
    return min(workers / (compute + 2 * transfer), servers / transfer)


def times_bandwidth(
    workers: int, servers: int, nbytes: float, compute: float, bandwidth: float
) -> float:
    """Multiplies by the bandwidth."""
    transfer = nbytes / servers * bandwidth
    return min(workers / (compute + 2 * transfer), 1 / transfer)


KNOWN: dict[str, Callable[[int, int, float, float, float], float]] = {
    "servers twice": servers_twice,
    "times bandwidth": times_bandwidth,
    "no limit": no_limit,
    "one way": one_way,
    "one server": one_server,
    "half duplex": half_duplex,
    "only the link": only_the_link,
    "seconds": seconds,
}

EXERCISE = Exercise(
    number="05.3",
    title="When the link is full",
    stars=1,
    minutes=8,
    points=2,
    function="gradients_per_second",
    asks=(
        "the smaller of what N workers give that never wait, N / (compute + 2 · transfer), and "
        "what a link carries, 1 / transfer, with transfer = nbytes / servers / bandwidth."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(
        Mistake(
            "servers twice",
            _by_rule(
                "servers twice",
                "the servers count twice in your limit, S / t: that each holds a part only is in t "
                "already, and a gradient has a part for every server. So they take 1 / t a second.",
            ),
        ),
        Mistake(
            "times bandwidth",
            _by_rule(
                "times bandwidth",
                "bytes are multiplied by the bandwidth: seconds are bytes divided by bytes a "
                "second, nbytes / servers / bandwidth.",
            ),
        ),
        Mistake(
            "no limit",
            _by_rule(
                "no limit",
                "nobody waits in your formula: but all gradients come in through the same link, "
                "which takes one after the other. It carries 1 / transfer a second at most.",
            ),
        ),
        Mistake(
            "half duplex",
            _by_rule(
                "half duplex",
                "pushes and pulls share one direction in your limit: a link carries both ways at "
                "once, so what comes in is limited by 1 / transfer alone.",
            ),
        ),
        Mistake(
            "seconds",
            _by_rule(
                "seconds",
                "that is the time from one gradient to the next: gradients a second is one over "
                "it.",
            ),
        ),
        Mistake(
            "only the link",
            _by_rule(
                "only the link",
                "your formula takes the link to be full: so few workers cannot fill it. Take the "
                "smaller of what the workers give and what the link carries.",
            ),
        ),
        Mistake(
            "one way",
            _by_rule(
                "one way",
                "a worker's round has one transfer in it: it pulls the weights and pushes a "
                "gradient, which is two.",
            ),
        ),
        Mistake(
            "one server",
            _by_rule(
                "one server",
                "all bytes go through one link in your formula: each server holds nbytes / servers "
                "and has a link of its own.",
            ),
        ),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("no limit", no_limit, hint="nobody waits in your formula"),
        WrongAnswer("servers twice", servers_twice, hint="count twice in your limit"),
        WrongAnswer("times bandwidth", times_bandwidth, hint="multiplied by the bandwidth"),
        WrongAnswer("half duplex", half_duplex, hint="share one direction"),
        WrongAnswer("seconds", seconds, hint="one over it"),
        WrongAnswer("only the link", only_the_link, hint="cannot fill it"),
        WrongAnswer("one way", one_way, hint="one transfer in it"),
        WrongAnswer("one server", one_server, hint="go through one link"),
    ),
    ranked=False,
)
