"""What exercise 03.5 claims about time, by the trace: when sums start, and what backward takes.

The trace is the grader's own where it grades. On the driver's clock a layer of backward takes
`SECONDS`, so a bucket is full once backward has come down to the lowest of its layers.
"""

from collections.abc import Iterator
from typing import Any

from helpers.checks.spec import Case, Observation, first_said

SECONDS = 1e-3
_EPS = 1e-9


def _backwards(case: Case, seen: Observation) -> Iterator[tuple[int, int, float, list[float]]]:
    """All backwards, rank after rank: (rank, step, seconds, when sums start on that rank, reckoned
    from this backward's start). None where no sum runs beside one."""
    layers = _layers(case)
    for rank in range(case.ranks) if _beside(case, seen) else ():
        mine: list[Any] = [event for event in seen.events if event.rank == rank]
        work = [e for e in mine if e.lane == 0 and e.kind == "computing"]
        for step in range(len(work) // layers):
            start, end = work[step * layers].start, work[(step + 1) * layers - 1].end
            sums = [event.start - start for event in mine if event.lane == 1]
            yield rank, step, end - start, sums


def _layers(case: Case) -> int:
    return len(case.args[0][0]) // 2


def _beside(case: Case, seen: Observation) -> bool:
    return case.ranks > 1 and any(event.lane == 1 for event in seen.events)


def _is_slow(case: Case) -> bool:
    """Whether a sum outlasts a layer of backward."""
    return bool(case.options["latency"] > SECONDS)


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """No backward waits, each overlaps with a sum, and every bucket starts when it is full."""
    for look in (own_thread, waits_in_the_hook, no_overlap, late):
        yield first_said(look, case, seen)
    if len([*_backwards(case, seen)]) != case.ranks * len(case.args[0][1]):
        yield "backward computed something else than the layers."


def own_thread(case: Case, seen: Observation) -> str | None:
    """No sum on the communication thread."""
    if case.ranks == 1 or _beside(case, seen):
        return None
    return (
        "the sums ran on the rank's own thread, which computes nothing meanwhile: hand each, in "
        "its hook, to the communication thread, `comm.background(reduce, flat)`."
    )


def waits_in_the_hook(case: Case, seen: Observation) -> Iterator[str]:
    """A backward that takes longer than its layers do."""
    computing = SECONDS * _layers(case)
    how = "A hook only starts the sum and keeps the request; the waiting is for finish()."
    if _is_slow(case):
        how = (
            "On links as slow as these a bucket is full before the last one is through: start it "
            "all the same, sums queue up on the communication thread."
        )
    for rank, step, took, _ in _backwards(case, seen):
        if took > computing + _EPS:
            yield (
                f"rank {rank}'s backward of step {step} computes for {computing * 1e3:.1f} ms and "
                f"took {took * 1e3:.1f} ms: it waited. {how}"
            )


def no_overlap(case: Case, seen: Observation) -> Iterator[str]:
    """A backward in which no sum starts, though some are made."""
    for rank, step, took, sums in _backwards(case, seen):
        first = next((each for each in sums if each >= 0), 0.0)
        why = "Start a bucket in the hook of its last gradient: when backward has ended is too late"
        if step:
            why = "In step 0 something did: what counts gradients has to begin anew in every step"
        elif rank:
            why = "On rank 0 something does: hooks belong on every rank"
        if first >= took:
            yield (
                f"rank {rank}'s first all-reduce of step {step} starts {first * 1e3:.2f} ms into "
                f"its backward, which takes {took * 1e3:.2f} ms: nothing overlaps. {why}."
            )


def late(case: Case, seen: Observation) -> Iterator[str]:
    """A bucket that does not start when it is full; on slow links one may queue behind another."""
    for rank, step, _, sums in _backwards(case, seen) if not _is_slow(case) else ():
        for number, group in enumerate(case.args[0][3]):
            # The parameters of layer k are 2k and 2k + 1, and the last layer comes first.
            full = SECONDS * (_layers(case) - min(group) // 2)
            if not any(full - _EPS <= each < full + SECONDS / 2 for each in sums):
                yield (
                    f"rank {rank} has bucket {number} full {full * 1e3:.0f} ms into backward of "
                    f"step {step}, and no sum starts then: start it in the hook of its last "
                    "gradient; the next bucket's first one comes too late."
                )
