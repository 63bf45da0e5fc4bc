"""Exercise 14.4, what a rank holds in each of ZeRO's stages.

`bytes_per_rank(parameters, ranks, stage) -> float`: Adam in mixed precision, 2 + 2 + 12 bytes a
parameter; stage 0 shards nothing, 1 the optimizer state, 2 the gradients too, 3 the parameters too.
Rajbhandari et al., "ZeRO" (2020), section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, number, short
from helpers.exercises.drives import plain_call
from helpers.exercises.spec import Case, Exercise, Look, Mistake, Observation, WrongAnswer


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
        facts = {
            "want": reference(parameters, ranks, stage),
            "known": {name: rule(parameters, ranks, stage) for name, rule in KNOWN.items()},
        }
        made.append(Case(f"{name}{stage}", ((parameters, ranks, stage),), facts=facts))
    return made


def _equal(got: Any, want: float) -> bool:
    value = number(got)
    return value is not None and abs(value - want) <= 1e-9 * abs(want)


def claim(case: Case, seen: Observation) -> str | None:
    """The number, to nine digits."""
    got, want = seen.values[0], case.facts["want"]
    if number(got) is None:
        return f"{case.name}, your function gave {describe(got)}; a number of bytes was asked for."
    if not _equal(got, want):
        return f"{case.name}, you say {describe(got)} B; a rank holds {short(float(want))} B."
    return None


def _by_rule(name: str, words: str) -> Look:
    def look(case: Case, seen: Observation) -> str | None:
        if not _equal(seen.values[0], case.facts["known"][name]):
            return None
        return f"{case.name}, {words}"

    return look


def _gigabytes(case: Case, seen: Observation) -> str | None:
    for unit, words in ((1e9, "GB"), (2.0**30, "GiB"), (1e6, "MB")):
        if _equal(seen.values[0], case.facts["want"] / unit):
            return f"{case.name}, your number is in {words}; bytes were asked for."
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
    """The course's own, which `helpers.algorithms.data_parallel.memory` gives part by part."""
    return _rule(parameters, ranks, stage)


def _rule(
    parameters: int, ranks: int, stage: int, each: tuple[float, float, float] = (2, 2, 12)
) -> float:
    kept = zip(each, (3, 2, 1), strict=True)
    return sum(parameters * size / (ranks if stage >= first else 1) for size, first in kept)


def everything(parameters: int, ranks: int, stage: int) -> float:
    """Every stage shards everything."""
    return 16 * parameters / ranks


def never(parameters: int, ranks: int, stage: int) -> float:
    """Nothing is ever sharded."""
    return 16 * parameters


def no_copy(parameters: int, ranks: int, stage: int) -> float:
    """Forgets the optimizer's own copy of the parameters."""
    return _rule(parameters, ranks, stage, (2, 2, 8))


def whole_floats(parameters: int, ranks: int, stage: int) -> float:
    """Parameters and gradients in float32 as well."""
    return _rule(parameters, ranks, stage, (4, 4, 12))


def float32(parameters: int, ranks: int, stage: int) -> float:
    """Everything in float32, without a second copy."""
    return _rule(parameters, ranks, stage, (4, 4, 8))


def one_early(parameters: int, ranks: int, stage: int) -> float:
    """Counts the stages from 0, so that stage 0 shards the optimizer state."""
    return _rule(parameters, ranks, stage + 1)


def other_order(parameters: int, ranks: int, stage: int) -> float:
    """Shards the parameters first and the optimizer's state last."""
    kept = zip((2, 2, 12), (1, 2, 3), strict=True)
    return sum(parameters * size / (ranks if stage >= first else 1) for size, first in kept)


def only_one(parameters: int, ranks: int, stage: int) -> float:
    """A stage shards its own part and not those of the stages before."""
    kept = zip((2, 2, 12), (3, 2, 1), strict=True)
    return sum(parameters * size / (ranks if stage == mine else 1) for size, mine in kept)


def gradients_whole(parameters: int, ranks: int, stage: int) -> float:
    """Stage 2 leaves the gradients whole, as stage 1."""
    return _rule(parameters, ranks, 1 if stage == 2 else stage)


def parameters_whole(parameters: int, ranks: int, stage: int) -> float:
    """Stage 3 leaves the parameters whole, as stage 2."""
    return _rule(parameters, ranks, min(stage, 2))


def gigabytes(parameters: int, ranks: int, stage: int) -> float:
    """Answers in GB."""
    return _rule(parameters, ranks, stage) / 1e9


KNOWN: dict[str, Callable[[int, int, int], float]] = {
    "everything": everything,
    "never": never,
    "no copy": no_copy,
    "whole floats": whole_floats,
    "float32": float32,
    "one early": one_early,
    "other order": other_order,
    "only one": only_one,
    "gradients whole": gradients_whole,
    "parameters whole": parameters_whole,
}

EXERCISE = Exercise(
    number="14.4",
    title="What each stage leaves",
    stars=1,
    minutes=8,
    points=2,
    function="bytes_per_rank",
    asks=(
        "the bytes that one rank holds with Adam in mixed precision: 2 for a parameter, 2 for its "
        "gradient, 12 for the optimizer; what the stage shards is divided by the ranks."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(
        Mistake("another unit", _gigabytes),
        Mistake(
            "counts the stages from zero",
            _by_rule("one early", "that is the next stage's: stage 0 shards nothing at all."),
        ),
        Mistake(
            "shards nothing",
            _by_rule("never", "nothing was divided by the ranks: that is 16 Ψ, stage 0."),
        ),
        Mistake(
            "the parameters first",
            _by_rule(
                "other order",
                "the order is the other way round: the optimizer state, which is largest, is "
                "sharded first, and the parameters last.",
            ),
        ),
        Mistake(
            "one part only",
            _by_rule(
                "only one",
                "only one of the three was divided: each stage shards what the stages before it "
                "shard, and one thing more.",
            ),
        ),
        Mistake(
            "every stage shards everything",
            _by_rule("everything", "everything was divided by the ranks: that is stage 3."),
        ),
        Mistake(
            "gradients whole",  # before float32, which gives the same number in stage 2
            _by_rule(
                "gradients whole",
                "the gradients were not divided: that is stage 1's number, and stage 2 shards the "
                "gradients too.",
            ),
        ),
        Mistake(
            "parameters whole",
            _by_rule(
                "parameters whole",
                "the parameters were not divided: that is stage 2's number, and stage 3 shards "
                "the parameters too.",
            ),
        ),
        Mistake(
            "no second copy",
            _by_rule(
                "no copy",
                "the optimizer's 12 bytes are 4 for momentum, 4 for variance, and 4 for a float32 "
                "copy of the parameter, which is missing here.",
            ),
        ),
        Mistake(
            "parameters in float32",
            _by_rule(
                "whole floats",
                "parameters and gradients were counted with 4 bytes each; in mixed precision they "
                "take 2.",
            ),
        ),
        Mistake(
            "float32",
            _by_rule(
                "float32",
                "that is float32 without a second copy, 4 + 4 + 8: in mixed precision it is "
                "2 + 2 + 12. Unsharded, both are 16.",
            ),
        ),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("everything", everything, hint="that is stage 3"),
        WrongAnswer("never", never, hint="nothing was divided"),
        WrongAnswer("no copy", no_copy, hint="float32 copy of the parameter"),
        WrongAnswer("4 bytes", whole_floats, hint="with 4 bytes each"),
        WrongAnswer("float32", float32, hint="4 + 4 + 8"),
        WrongAnswer("one early", one_early, hint="the next stage's"),
        WrongAnswer("other order", other_order, hint="the other way round"),
        WrongAnswer("only one", only_one, hint="only one of the three"),
        WrongAnswer("gigabytes", gigabytes, hint="in GB"),
        WrongAnswer("gradients", gradients_whole, hint="the gradients were not divided"),
        WrongAnswer("parameters", parameters_whole, hint="the parameters were not divided"),
    ),
    ranked=False,
)
