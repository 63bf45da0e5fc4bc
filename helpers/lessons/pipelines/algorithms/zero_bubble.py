"""Schedules that cut a backward in two and fill the bubble with the half that nobody waits for.

The stage before waits for the gradient of a stage's input (B); the gradients of the stage's own
weights (W) are wanted at the end of the step only. 1F1B does both at once, and so makes everybody
before it wait for W too. Write p for the stages, m for the microbatches, F, B and W for the seconds
of each part.

Source: Qi, Wan, Huang and Lin, "Zero Bubble Pipeline Parallelism" (arXiv 2401.10241; at ICLR 2024
"Zero Bubble (Almost) Pipeline Parallelism"), sections 2.1 to 2.3, and on arXiv section 6 for the V,
ZB-V; Qi, Wan, Amar and Lin, "Pipeline Parallelism with Controllable Memory" (2024), for more of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.lessons.pipelines.algorithms.instructions import (
    BackwardInput,
    BackwardWeights,
    Forward,
    Instruction,
    Kind,
    check_stage,
)


def zero_bubble(
    stage: int, stages: int, microbatches: int, times: int = 1
) -> Iterator[Instruction]:
    """1F1B with its backward cut in two, and W put off by as many microbatches as stages before it.

    This is ZB-H1 (section 2.1): every stage holds p microbatches, as stage 0 does under 1F1B, and
    the bubble is (p − 1)(F + B − W), a third of 1F1B's where all parts take equally long.
    times: 2 for ZB-H2 (section 2.2), with twice as many forwards ahead, and W twice as late. A rank
    then idles (p − 1)(F + B − 2W) between its first instruction and its last, where there are
    2p − 1 microbatches or more, and holds 2p − 1 of them. Ranks begin and end one after the other:
    the gain is lost where all wait for each other before they update.
    Raises ValueError where there is no such stage, or no microbatch, and for times below 1.
    Example: stage 1 of 2 with 2 microbatches does F0 B0 F1 B1 W0 W1.
    """
    check_stage(stage, stages, microbatches)
    if times < 1:
        raise ValueError(f"times is 1 for ZB-H1 and 2 for ZB-H2, not {times}.")
    ahead, late = min(times * (stages - 1 - stage), microbatches), times * stage
    yield from map(Forward, range(ahead))
    done = 0
    for microbatch in range(microbatches):
        if microbatch + ahead < microbatches:
            yield Forward(microbatch + ahead)
        yield BackwardInput(microbatch)
        if microbatch >= late:
            yield BackwardWeights(done)
            done += 1
    yield from map(BackwardWeights, range(done, microbatches))


def zb_v(rank: int, ranks: int, microbatches: int) -> Iterator[Instruction]:
    """Two chunks a rank in a V: down the ranks with the first, up again with the second.

    Chunk 0 of rank r is stage r, chunk 1 stage 2p − 1 − r (`timetable.in_a_v`). The last stage lies
    on rank 0 beside the first, so that a gradient is back early: no bubble where all parts take
    equally long and there are 2p − 1 microbatches or more, in the memory of 1F1B: 2p half stages.
    Raises ValueError where there is no such rank, or no microbatch.
    """
    check_stage(rank, ranks, microbatches)
    counts: dict[Kind, list[int]] = {
        kind: [0, 0] for kind in (Forward, BackwardInput, BackwardWeights)
    }

    def each(*wanted: tuple[Kind, int]) -> Iterator[Instruction]:
        """The next microbatch of each kind and chunk, of those that have one left to do."""
        for kind, chunk in wanted:
            left = counts[BackwardInput][chunk] if kind is BackwardWeights else microbatches
            if counts[kind][chunk] < left:
                yield kind(counts[kind][chunk], chunk)
                counts[kind][chunk] += 1

    down, up = [(kind, 0) for kind in counts], [(kind, 1) for kind in counts]
    for _ in range(2 * (ranks - rank) - 1):
        yield from each(down[0])
    for _ in range(rank):
        yield from each(up[0], down[0])
    for _ in range(ranks - rank):
        yield from each(*up)
    while counts[Forward][1] < microbatches:
        yield from each(*down, *up)
    for _ in range(rank):
        yield from each(down[1], up[1])
    while counts[BackwardInput] != [microbatches, microbatches]:
        yield from each(down[1], up[1], down[2])
    for _ in range(microbatches):
        yield from each(up[2])
    for _ in range(microbatches):
        yield from each(down[2])


def split_bubble(
    stages: int, forward: float = 1.0, inputs: float = 1.0, weights: float = 1.0, saved: int = 0
) -> float:
    """Seconds that a rank idles in a step, from its first instruction to its last.

    (p − 1)(F + B + W) for 1F1B. `saved` says how many W of each of the p − 1 stages are no longer
    in it: 2 for ZB-H1, which makes (p − 1)(F + B − W), and 3 for ZB-H2. Never below 0.
    inputs, weights: seconds of a microbatch's B and W. Qi et al. (2024), table 1.
    Raises ValueError for less than one stage or times below 0.
    Example: split_bubble(4, saved=2) is 3, a third of 9.
    """
    if stages < 1 or min(forward, inputs, weights) < 0:
        raise ValueError("A pipeline has one stage or more, and its parts take 0 s or longer.")
    return max(0.0, (stages - 1) * (forward + inputs + weights - saved * weights))
