"""Exercise 14.4, what a rank holds in each of ZeRO's stages.

`bytes_per_rank(parameters, ranks, stage) -> float`: Adam in mixed precision, 2 + 2 + 12 bytes a
parameter; stage 0 shards nothing, 1 the optimizer state, 2 the gradients too, 3 the parameters too.
Rajbhandari et al., "ZeRO" (2020), section 5.
"""

from collections.abc import Sequence
from functools import wraps
from numbers import Real
from typing import Any

from helpers.checks.compare import count, describe, number, told_apart
from helpers.checks.drives.calling import Function, plain_call
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers


def one_number(fn: Function, case: Case) -> Observation:
    """As `plain_call`, and a number of any kind, a Fraction too, stands as a float."""

    @wraps(fn)
    def answer(*args: Any) -> Any:
        value = fn(*args)
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else value

    return plain_call(answer, case)


def cases(seed: int) -> list[Case]:
    """Seed 0: 7.5 billion parameters on 64 ranks, stage by stage, then other sizes; else random."""
    random = rng(seed, "14.4")
    settings = [(7_500_000_000 // 64 * 64, 64, stage) for stage in (1, 2, 3, 0)]
    settings += [(1_500_000, 1, 2), (12_000, 3, 3), (10_000, 5, 1), (4096, 2, 2)]
    if seed:
        for stage in (0, 1, 2, 3, 1, 2, 3):
            ranks = int(random.integers(2, 1000))
            settings.append((ranks * int(random.integers(1000, 10**7)), ranks, stage))
        settings = settings[8:]
    made = []
    for parameters, ranks, stage in settings:
        name = f"With {parameters / 1e6:.4g} million parameters on {count(ranks, 'rank')}, stage "
        facts = {"want": reference(parameters, ranks, stage)}
        made.append(Case(f"{name}{stage}", ((parameters, ranks, stage),), facts=facts))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The number, to nine digits."""
    got, want = seen.values[0], case.facts["want"]
    value = number(got)
    if value is None:
        return f"your function gave {describe(got)}; a number of bytes was asked for."
    if not abs(value - want) <= 1e-9 * abs(want):
        one, other = told_apart(value, want)
        return f"you say {one} B; a rank holds {other} B."
    return None


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    held = [float(number(each.values[0]) or 0) / 1e9 for each in seen[:4]]
    return (
        f"Passed: 7.5 billion parameters on 64 ranks take {held[3]:.0f} GB a rank unsharded, and "
        f"{held[0]:.1f}, {held[1]:.1f} and {held[2]:.2f} GB in stages 1 to 3, as ZeRO's table 1 "
        "has it."
    )


def reference(parameters: int, ranks: int, stage: int) -> float:
    """The course's own, which `helpers.lessons.sharding.algorithms.memory` gives part by part."""
    held = 0.0
    for size, first in ((2, 3), (2, 2), (12, 1)):  # bytes of one, and the stage that shards it
        held += parameters * size / (ranks if stage >= first else 1)
    return held


WRONG = """
in GB
    | return held => return held / 1e9
    your number is in GB; bytes were asked for.
in GiB
    | return held => return held / 2.0**30
    your number is in GiB; bytes were asked for.
in MB
    | return held => return held / 1e6
    your number is in MB; bytes were asked for.
one early
    | stage >= first => stage + 1 >= first
    that is the next stage's number: stage 0 shards nothing, 1 the optimizer state, 2 the gradients
    too, and 3 the parameters too.
shards nothing
    | ranks if stage >= first else 1 => 1
    nothing was divided by the ranks: that is 16 Ψ, stage 0.
the parameters first
    | (2, 3), (2, 2), (12, 1) => (2, 1), (2, 2), (12, 3)
    the order is the other way round: the optimizer state, which is largest, is sharded first, and
    the parameters last.
one part only
    | stage >= first => stage == first
    only one of the three was divided: each stage shards what the stages before it shard, and one
    thing more.
all
    | ranks if stage >= first else 1 => ranks
    all three were divided by the ranks: that is stage 3.
# Before "float32", which gives the same number in stage 2.
gradients whole
    | (2, 2) => (2, 3)
    the gradients were not divided: that is stage 1's number, and stage 2 shards the gradients too.
whole
    | (2, 3) => (2, 4)
    that is stage 2's: stage 3 shards the parameters too.
no second copy
    | (12, 1) => (8, 1)
    the optimizer's 12 bytes are 4 for momentum, 4 for variance, and 4 for a float32 copy of the
    parameter, which is missing here.
4 bytes
    | (2, 3), (2, 2) => (4, 3), (4, 2)
    in mixed precision parameters and gradients take 2.
float32
    | (2, 3), (2, 2), (12, 1) => (4, 3), (4, 2), (8, 1)
    that is 8 bytes a parameter for parameters and gradients and 8 for the optimizer, as in float32
    without a second copy, 4 + 4 + 8: in mixed precision it is 2 + 2 + 12, and the float32 copy is
    the optimizer's. Unsharded, both are 16.
"""

EXERCISE = Exercise(
    number="14.4",
    title="What each stage leaves",
    size=Size(stars=1, minutes=8, points=2),
    function="bytes_per_rank",
    asks=(
        "the bytes that one rank holds with Adam in mixed precision: 2 for a parameter, 2 for its "
        "gradient, 12 for the optimizer; what the stage shards is divided by the ranks."
    ),
    cases=cases,
    drive=one_number,
    claim=claim,
    compared=lambda case, seen: number(seen.values[0]),  # whatever type it has
    praise=praise,
    reference=reference,
    wrong=wrong_answers("14.4", WRONG, reference),
    ranked=False,
)
