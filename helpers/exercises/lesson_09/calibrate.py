"""Exercise 09.3, what short runs say of a machine: compute time, latency, share of the bandwidth.

The claim: with times that are off by a few per cent all three come out as least squares of the
relative errors gives them, and none below zero: where α or 1 / share would be, it is 0, and the
other two are fitted without it. Errors of logarithms, or relative to the fit, give nearly the same
and pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from typing import Any

from helpers.exercises.compare import describe, short
from helpers.exercises.drives import plain_call
from helpers.exercises.lesson_09 import calibrate_families as families
from helpers.exercises.lesson_09 import calibrate_wrong as wrong
from helpers.exercises.lesson_09.calibrate_cases import EXACT, NAMES, SAME_FIT, cases, differ
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def _off(case: Case, seen: Observation) -> list[list[Any]]:
    by = SAME_FIT if case.facts["noise"] else EXACT
    return differ(families.triple_of(seen.values[0]) or (), case.facts["best"], by)


def claim(case: Case, seen: Observation) -> str | None:
    """All three as the best fit has them, or within 0.1% where the times are exact."""
    if families.triple_of(seen.values[0]) is None:
        gave = describe(seen.values[0])
        return f"Return three numbers, (compute, latency, share); yours gave {gave}."
    found = _off(case, seen)
    if not found:
        return None
    name, got = found[0]
    want, unit = case.facts["best"][NAMES.index(name)], families.UNITS[name]
    return f"{case.name}, your {name} is {short(got)}{unit} instead of {short(want)}{unit}."


def compared(case: Case, seen: Observation) -> Any:
    """The numbers that are wrong."""
    return _off(case, seen)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """The three that were given, those that are right, and what the hints name."""
    (workers, seconds, _, bandwidth), best = case.args[0], case.facts["best"]
    got = families.triple_of(seen.values[0]) or (0.0, 0.0, 0.0)
    alone = [t for n, t in zip(workers, seconds, strict=True) if n == 1]
    last, endless = max(workers), isinf(best[2])
    runs = list(zip(workers, seconds, strict=True))
    alike = dict(runs[::-1]) == dict(sorted(runs, reverse=True))  # the first and the quickest
    longest = max(t for n, t in zip(workers, seconds, strict=True) if n == last)
    return {
        **{name: short(value) for name, value in zip(NAMES, got, strict=True)},
        **{f"best_{name}": short(value) for name, value in zip(NAMES, best, strict=True)},
        "alone": short(alone[0]),
        "longest": f"{longest / min(alone):.2g}",
        "last": last,
        "runs": len(workers),
        "first": ", which is also the first one" if alike else "",
        "bandwidth": f"{bandwidth / 1e6:.3g}",
        "zero": "1 / share" if endless else "the latency",
        "unsigned": f"share is {short(got[2])}" if endless else f"latency is {short(got[1])} s",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    at = next(i for i, case in enumerate(cases) if case.facts["noise"])
    compute, latency, share = families.triple_of(seen[at].values[0]) or (0, 0, 0)
    right = cases[at].facts
    c, alpha, part = right["machine"]
    return (
        f"Passed; from times that are off by {right['noise']:.0%} you found {compute * 1e3:.3g} ms "
        f"({c * 1e3:.3g} is right), α = {latency * 1e3:.2g} ms ({alpha * 1e3:.2g} is right) and "
        f"{share:.0%} of the bandwidth ({part:.0%} is right)."
    )


def reference(
    workers: Sequence[int], seconds: Sequence[float], nbytes: float, bandwidth: float
) -> tuple[float, ...]:
    """The course's own."""
    from helpers.algorithms.data_parallel.scaling import fit_steps

    return tuple(fit_steps(workers, seconds, nbytes, bandwidth))


EXERCISE = Exercise(
    number="09.3",
    title="Calibrate",
    stars=2,
    minutes=15,
    points=3,
    function="fit_steps",
    asks=(
        "(compute, latency, share) for which compute + 2(N − 1) · latency + 2(N − 1)/N · nbytes / "
        "(share · bandwidth) comes nearest to the measured seconds of all runs, by least squares "
        "of errors that are relative to their time; none of these three, compute, latency and "
        "1 / share, is below zero: where one would be, it is 0, "
        "and the others are fitted without it. Where 1 / share is 0, the share is `float('inf')`."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(
        Mistake("below zero", families.below_zero),
        Mistake("no latency", families.no_latency),
        Mistake("one over 0", families.no_quotient, unfinished=True),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "no share",
            wrong.no_share,
            "your share is 0. What the best fit has at 0 is 1 / share: the bytes take no time that "
            "could be measured, and the share is `float('inf')`.",
        ),
        WrongAnswer(
            "no share and no second fit",
            wrong.no_share_no_refit,
            "your share is 0, where the fit's 1 / share came out below zero, and the other two are "
            "as they were fitted beside it. Leave its column out and fit them again; then the "
            "share is `float('inf')`, whatever bandwidth the links are sold with.",
        ),
        WrongAnswer(
            "the slowness for the share",
            wrong.slowness,
            "your share is {share}, which is one over it: the fit's third coefficient stands for "
            "1 / share, since the share is below the line. Return one over the coefficient.",
        ),
        WrongAnswer(
            "bytes a second for the share",
            wrong.bytes_a_second,
            "your share is {share}: that is a bandwidth in bytes a second. Divide it by the raw "
            "one, {bandwidth} MB/s.",
        ),
        WrongAnswer(
            "seconds a byte for the share",
            wrong.seconds_a_byte,
            "your share is {share}, which is in seconds a byte. One over it is the bandwidth that "
            "gets through; divide that by the raw one, {bandwidth} MB/s.",
        ),
        WrongAnswer(
            "latency first",
            wrong.latency_first,
            "compute and latency are swapped: return (compute, latency, share).",
        ),
        WrongAnswer(
            "share second",
            wrong.share_second,
            "latency and share are swapped: return (compute, latency, share).",
        ),
        WrongAnswer(
            "α of the whole ring",
            wrong.one_latency,
            "your model takes the latency once, however many workers there are. A ring of N sends "
            "2(N − 1) messages one after the other, so its column is 2(N − 1).",
        ),
        WrongAnswer(
            "one half of the ring",
            wrong.one_half,
            "your model has N − 1 steps, half of the ring's 2(N − 1): so each looks twice as "
            "long, {latency} s of latency in place of {best_latency}.",
        ),
        WrongAnswer(
            "whole tensors in each step",
            wrong.whole_tensors,
            "in your model each message holds all bytes; in a ring it holds nbytes / N. As it is, "
            "the columns of latency and bytes are the same but for a factor, and no fit can tell "
            "them apart.",
        ),
        WrongAnswer(
            "the chunk of one message",
            wrong.one_chunk,
            "in your model the bytes of one step are sent, nbytes / N. A ring of N has 2(N − 1) "
            "steps: the column is 2(N − 1)/N · nbytes / bandwidth.",
        ),
        WrongAnswer(
            "bytes as bits",
            wrong.bits,
            "your share is {share}, 8 times {best_share}: bytes and bandwidth are both in bytes "
            "here, so nothing is multiplied by 8.",
        ),
        WrongAnswer(
            "the first three runs",
            wrong.first_three,
            "your fit goes through the first three runs exactly, and takes over their errors. Use "
            "all {runs}: there are more equations than unknowns, and least squares weighs them.",
        ),
        WrongAnswer(
            "the run of one worker for compute",
            wrong.alone_is_exact,
            "your compute is {alone} s, the first run of one worker as it is, with its error. Fit "
            "all three numbers to all {runs} runs.",
        ),
        WrongAnswer(
            "absolute errors",
            wrong.absolute,
            "your errors count in seconds, so the runs on {last} workers, {longest} times as long "
            "as one alone, outweigh the others. Make the relative errors small: divide each "
            "equation by its time.",
        ),
        WrongAnswer(
            "relative to the root of the time",
            wrong.by_the_root,
            "each error counts relative to the square root of its time: divide it by the time "
            "itself before you square it. A weight of 1/t on the square is not enough.",
        ),
        WrongAnswer(
            "set to zero afterwards",
            wrong.clipped,
            "you fit all three and then set {zero} to 0. The others were fitted beside one "
            "below zero: fit them again without its column, as `scipy.optimize.nnls` does.",
        ),
        WrongAnswer(
            "the sign dropped",
            wrong.sign_dropped,
            "your {unsigned}: the fit gave as much below zero, and the sign is gone. "
            "Let it be 0 and fit the others again without its column, as `scipy.optimize.nnls` "
            "does.",
        ),
        WrongAnswer(
            "only the left side divided",
            wrong.one_side,
            "you divide the columns by the times and not what they should add up to: where both "
            "sides of an equation are divided by its time, 1 stands on the right.",
        ),
        WrongAnswer(
            "the first and the last run",
            wrong.ends,
            "you fit three numbers to two runs, the first and the last: many sets of three fit "
            "these. Use all {runs}.",
        ),
        WrongAnswer(
            "the quickest run of each",
            wrong.quickest,
            "you keep the quickest run of each number of workers{first}. The errors go both ways "
            "here, so that makes every time too short: fit all {runs} runs.",
        ),
        WrongAnswer(
            "the latency of a whole exchange",
            wrong.all_latencies,
            "your latency is {latency} s, that of all messages of an exchange among {last} "
            "workers. One of them was asked for: what stands with the column 2(N − 1).",
        ),
        WrongAnswer(
            "latency in milliseconds",
            wrong.milliseconds,
            "your latency is {latency}, which is in ms: give it in seconds.",
        ),
        WrongAnswer(
            "share in per cent",
            wrong.per_cent,
            "your share is {share}, which is in per cent: give it as a part of 1.",
        ),
        WrongAnswer(
            "the last run of each",
            wrong.last_of_each,
            "of runs on the same number of workers you use the last alone: a dictionary keeps one "
            "time for each number. Every run is an equation: fit all {runs}.",
        ),
        WrongAnswer("below zero", wrong.unbounded, hint="nothing takes less than no time"),
        WrongAnswer("only α at 0", wrong.latency_alone, hint="one over a 1 / share below zero"),
        WrongAnswer("one over 0", wrong.divides_by_0, hint="one over 0 fails"),
        WrongAnswer("no latency", wrong.no_latency, hint="α with the column 2(N − 1)"),
    ),
    ranked=False,
)
