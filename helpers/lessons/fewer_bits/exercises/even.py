"""Exercise 10.6, the link at which a scheme is even: with coding that takes time, less sending.

The claim: 2(N − 1)/N · (1 − share) · n / coding, to nine digits, where coding = compressed −
compute − share · (plain − compute); infinity where that is 0 or less.
"""

import math
from collections.abc import Sequence
from typing import Any

from helpers.checks.compare import number, short
from helpers.checks.drives.calling import plain_call
from helpers.checks.nine_digits import wrong_number
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.fewer_bits.algorithms.pays import break_even as reference


def cases(seed: int) -> list[Case]:
    """Seed 0: a scheme that costs on its link, some that pay, coding below 0 and 0; else random."""
    random, made = rng(seed, "10.6"), []
    settings: list[tuple[float, float, int, float, float, float]] = [
        (0.2, 40e6, 5, 0.25, 0.2512, 0.2698),
        (0.15, 100e6, 3, 0.1, 1.15, 0.3),
        (0.2, 40e6, 5, 0.25, 0.712, 0.32),
        (0.25, 50e6, 4, 0.5, 1.25, 0.75),  # of numbers that have no rounding in them
        (0.5, 40e6, 2, 0.02, 0.82, 0.55),
        (0.3, 1e9, 64, 0.125, 0.9, 0.58),
    ]
    if seed:
        settings = [(0.25, 3e7, 9, 0.25, 2.25, 2.65), (0.25, 3e7, 9, 0.25, 2.25, 0.75)]
        for at in range(8):
            workers, share = int(random.integers(9, 40)), float(random.uniform(0.02, 0.45))
            compute, sending = random.uniform(0.05, 2.0), random.uniform(0.05, 2.0)
            coding = sending * random.uniform(0.1, 1.3) * (-0.1 if at == 4 else 1)
            plain, compressed = compute + sending, compute + share * sending + coding
            given = (float(random.uniform(1e6, 5e8)), workers, share)
            settings.insert(1, (float(compute), *given, float(plain), float(compressed)))
    settings.append((0.001, 1e6, 4, 0.25, 0.021, 0.0063))  # a coding of less than a millisecond
    for setting in settings:
        compute, nbytes, workers, share, plain, compressed = setting
        name = (
            f"With {workers} workers, {nbytes / 1e6:.4g} MB, share {share:.3g} and {compute:.4g} s "
            f"of computing in steps of {plain:.4g} s and {compressed:.4g} s"
        )
        made.append(Case(name, (setting,), facts={"want": reference(*setting)}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The number, to nine digits; infinity is no other number."""
    want, got = case.facts["want"], number(seen.values[0])
    if got is None or math.isfinite(want):
        return wrong_number(case, seen, " bytes a second")
    said = f"you say {short(got)} bytes a second. The coding took no time there, so the scheme"
    return None if got == want else f"{said} pays on every link: `math.inf`."


def compared(case: Case, seen: Observation) -> Any:
    """The number, whatever holds it; what is none, as it is."""
    found = number(seen.values[0])
    return seen.values[0] if found is None else found


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """The terms of the formula, and what was given."""
    compute, nbytes, workers, share, plain, compressed = case.args[0]
    sending, often = plain - compute, 2 * (workers - 1) / workers
    four = {"compute": compute, "plain": plain, "compressed": compressed, "sending": sending}
    four |= {"less": share * sending, "whole": nbytes / 1e6, "link": often * nbytes / sending / 1e6}
    three = {"coding": compressed - compute - share * sending, "share": share, "spared": 1 - share}
    digits = {name: f"{value:.4g}" for name, value in four.items()}
    digits |= {name: f"{value:.3g}" for name, value in {**three, "often": often}.items()}
    got = short(number(seen.values[0])) if seen.values else ""
    return {"n": workers, "got": got, **digits}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    costs, pays = (float(number(seen[at].values[0]) or 0) / 1e6 for at in (0, 1))
    links = [numbers(case, one)["link"] for case, one in zip(cases[:2], seen, strict=False)]
    return (
        f"Passed: the first scheme was measured at {links[0]} MB/s and pays below {costs:.4g} MB/s "
        f"alone; the second, measured at {links[1]} MB/s, up to {pays:.4g} MB/s."
    )


WRONG = """
divides by zero
    | coding <= 0 => coding < 0
    the coding took 0 s, and you divide by it. Ask before: where it is 0 or less, the scheme pays on
    every link, which is `math.inf`.
never takes the computing off
    | sending = plain - compute => sending = plain
    | compressed - compute => compressed
    the computing is in your coding: of {compressed} s you take {share} · {plain} s. Take {compute}
    s off both steps first: only what is left is sending, or coding.
the whole step as sending
    | sending = plain - compute => sending = plain
    you take all {plain} s of a plain step for sending. {compute} s of them are computing; sending
    took the other {sending} s.
the computing as coding
    | compressed - compute => compressed
    {compute} s of computing are in your coding: take them off {compressed} s too.
what is sent as coding
    | compressed - compute - share * sending => compressed - compute
    you divide by all that is not computing. The scheme sent too, {share} of the bytes in {less} s:
    take that off, and {coding} s of coding are left.
infinite where it pays here
    | coding <= 0 => coding <= 0 or compressed <= plain
    the scheme is quicker on this link, which does not say that it is on every one: its coding took
    {coding} s, and a link that is quick enough sends all bytes in less.
what the scheme lost here
    | compressed - compute - share * sending => compressed - plain
    you divide by compressed − plain, which is what the scheme lost or won on this one link. Coding
    alone is the same on every link: {compressed} − {compute} s, less the {less} s in which the
    scheme sent.
share for what is saved
    | sending = plain => share = 1 - share; sending = plain
    you take `share` for what is saved. It is what is still sent: {share} of the bytes travel, and
    {spared} of them are spared.
sends what it saves
    | share * sending => (1 - share) * sending
    your scheme sent for (1 − share) · {sending} s. It sends {share} of the bytes, so for {less} s;
    that, and the computing, is what to take off {compressed} s.
what is still sent
    | (1 - share) => share
    you count the bytes that are still sent, share · nbytes. Coding is paid for by those that are
    not: 1 − share, {spared} of them.
as if nothing were sent
    | (1 - share) => 1
    you ask when coding takes as long as sending all bytes. The scheme still sends {share} of them
    on any link: only 1 − share, {spared}, is spared.
nbytes once over the link
    | ring_share(workers) => 1
    your {whole} MB leave a host once. In a sum round a ring they do so 2(N − 1)/N times, which is
    {often} with {n} workers.
one half of the ring
    | ring_share(workers) => ring_share(workers) / 2
    you count (N − 1)/N, one half of the ring. Each host sends in reduce-scatter and in all-gather:
    2(N − 1)/N, {often} times all bytes.
whole tensors round the ring
    | ring_share(workers) => 2 * (workers - 1)
    2(N − 1) messages leave a host, but each is a chunk, nbytes/N, and not all {whole} MB: {often}
    times all bytes.
the link that was measured
    | (1 - share) * nbytes / coding => nbytes / sending
    | if coding <= 0: return math.inf =>
    that is the link on which both steps were measured, {link} MB/s: it took {sending} s to send.
    Asked for is the link on which both would take equally long.
upside down
    | return ring_share => return coding / (ring_share
    | nbytes / coding => nbytes)
    your fraction is upside down: bytes that are spared above, seconds of coding below.
bits
    | nbytes / coding => nbytes * 8 / coding
    you give bits a second: leave the bytes as they are.
megabytes
    | nbytes / coding => nbytes / 1e6 / coding
    you give MB a second: plain bytes a second, please.
never pays where it costs here
    | return ring_share => return 0.0 if compressed >= plain else ring_share
    the scheme costs on this link, and may still pay on a slower one: below the bandwidth asked for,
    where its {coding} s of coding are less than what sending is spared.
a negative bandwidth
    | coding <= 0 => coding == 0
    you say {got}: no link has that. By noise in what was measured the coding comes out as {coding}
    s: it takes no time, so the scheme pays on every link, `math.inf`.
zero where it always pays
    | return math.inf => return 0.0
    you say 0: it would never pay. Coding took no time: it pays everywhere, `math.inf`.
nothing where it always pays
    | return math.inf => return None
    you return None. Coding took no time, so the scheme pays on every link: `math.inf`.
"""

EXERCISE = Exercise(
    number="10.6",
    title="When does it pay?",
    size=Size(stars=2, minutes=12, points=3),
    function="break_even",
    asks=(
        "the bytes a second at which the seconds that coding takes are those that sending is "
        "spared: 2 (N − 1)/N · (1 − share) · nbytes / coding, with coding = compressed − compute − "
        "share · (plain − compute); `math.inf` where that is 0 or less."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("10.6", WRONG, reference),
    ranked=False,
)
