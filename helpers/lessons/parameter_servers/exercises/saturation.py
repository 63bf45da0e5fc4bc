"""Exercise 05.3, how many gradients a second the servers' links let through."""

from collections.abc import Sequence

from helpers.checks.compare import count, describe, number, told_apart
from helpers.checks.drives.arguments import call_also
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers


def cases(seed: int) -> list[Case]:
    """Seed 0: the lesson's first run, then one worker, more servers, a quick link; else random."""
    random, made = rng(seed, "05.3"), []
    sizes = [(8, 1), (1, 1), (2, 4), (40, 2), (100, 16)]
    settings = [(workers, servers, 244e6, 1.0, 125e6) for workers, servers in sizes]
    settings.insert(3, (5, 3, 40e6, 0.5, 1.25e9))
    if seed:
        # Two where the links are full, and two where they are not, whatever comes below.
        settings = [(n, s, 2e8, 0.3, 1.25e8) for n, s in ((9, 1), (1, 2), (64, 2))]
        settings.append((3, 2, 1e7, 1.0, 1.25e9))
        for _ in range(8):
            workers, servers = int(random.integers(1, 200)), int(random.integers(1, 20))
            nbytes, compute = float(random.uniform(1e6, 1e9)), float(random.uniform(0.05, 3.0))
            settings.append((workers, servers, nbytes, compute, float(random.uniform(5e7, 1e10))))
    for setting in settings:
        workers, servers, nbytes, compute, bandwidth = setting
        name = (
            f"With {count(workers, 'worker')}, {count(servers, 'server')}, {nbytes / 1e6:.4g} MB, "
            f"{compute:.3g} s and {bandwidth / 1e6:.4g} MB/s"
        )
        # What it gives for one worker, for very many and with a wide link tells one wrong formula
        # from another.
        also = [(n, *setting[1:]) for n in (1, 1000 * workers)]
        also.append((*setting[:4], 1000 * bandwidth))
        made.append(Case(name, (setting,), 1, {"also": also}, {"want": reference(*setting)}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The number, to nine digits."""
    got, want = seen.values[0][0], case.facts["want"]
    rate = number(got)
    if rate is None:
        return f"your function gave {describe(got)}; a number was asked for."
    if abs(rate - want) <= 1e-9 * abs(want):
        return None
    one, other = told_apart(rate, want)
    why = "."
    if abs(rate - want) <= 1e-6 * abs(want):
        why = ": they agree to six digits, as where something was rounded or float32."
    return f"you say {one} gradients/s; it should be {other}{why}"


def compared(case: Case, seen: Observation) -> list[float | None]:
    """The numbers, whatever holds them."""
    return [number(each) for each in seen.values[0]]


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    first, alone = (float(number(each.values[0][0]) or 0) for each in seen[:2])
    return (
        f"Passed: 8 workers behind one link give {first:.3g} gradients/s, one worker there gives "
        f"{alone:.3g}. The link is full."
    )


def reference(workers: int, servers: int, nbytes: float, compute: float, bandwidth: float) -> float:
    """The course's own."""
    transfer = nbytes / servers / bandwidth
    return min(workers / (compute + 2 * transfer), 1 / transfer)


WRONG = """
servers twice
    | 1 / transfer => servers / transfer
    the servers count twice in your limit, S / t: that each holds a part only is in t already, and a
    gradient has a part for every server. So they take 1 / t a second.
limit of one server
    | 1 / transfer => 1 / (servers * transfer)
    your limit is that of one link for all bytes, bandwidth / nbytes: each server has a part and a
    link, so it is 1 / transfer, with the same transfer as in the round.
round with one server
    | 2 * transfer => 2 * nbytes / bandwidth
    your round has 2 · nbytes / bandwidth in it: each server has a part and a link, so a pull or a
    push takes nbytes / servers / bandwidth, the same transfer as in the limit.
times bandwidth
    | / bandwidth => * bandwidth
    bytes are multiplied by the bandwidth: seconds are bytes divided by bytes a second, nbytes /
    servers / bandwidth.
in bits
    | nbytes / => 8 * nbytes /
    you count bits: `bandwidth` is in bytes a second.
no limit
    | 1 / transfer => float("inf")
    your formula lets more through than the link: gradients come in one after the other, 1 /
    transfer a second at most. Take the smaller of the two.
half duplex
    | 1 / transfer => 1 / (2 * transfer)
    pushes and pulls share one direction in your limit: a link carries both ways at once, so what
    comes in is limited by 1 / transfer alone.
seconds
    | return min => return 1 / min
    that is the time from one gradient to the next: gradients a second is one over it.
no parentheses
    | (compute + 2 * transfer) => compute + 2 * transfer
    you divide by compute alone, and add 2 · transfer to gradients a second: a round takes both, so
    N / (compute + 2 · transfer), with the parentheses.
only the link
    | workers / (compute + 2 * transfer) => float("inf")
    that is what a full link carries, 1 / transfer, and so few workers cannot fill it. Take the
    smaller of that and what the workers give, N / (compute + 2 · transfer).
one way
    | 2 * transfer => transfer
    a worker's round has one transfer in it: it pulls the weights and pushes a gradient, which is
    two.
one server
    | nbytes / servers => nbytes
    all bytes go through one link in your formula: each server holds nbytes / servers and has a link
    of its own.
"""

EXERCISE = Exercise(
    number="05.3",
    title="When the link is full",
    size=Size(stars=1, minutes=8, points=2),
    function="gradients_per_second",
    asks=(
        "the smaller of what N workers give that never wait, N / (compute + 2 · transfer), and "
        "what a link carries, 1 / transfer, with transfer = nbytes / servers / bandwidth."
    ),
    cases=cases,
    drive=call_also,
    claim=claim,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("05.3", WRONG, reference),
    ranked=False,
)
