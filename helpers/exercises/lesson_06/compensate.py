"""Exercise 06.5, delay compensation (DC-ASGD).

`class DelayCompensation(Cure)` with `pull` and `arrive`: the server remembers the weights that each
worker pulled, and hands on g + λ·g⊙g⊙(w now − w pulled). Source: Zheng et al. (2017), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.algorithms.servers.rule import Rule
from helpers.exercises.common import WORLDS, rng
from helpers.exercises.compare import describe
from helpers.exercises.drives_rules import handing_turns
from helpers.exercises.lesson_06 import compensate_wrong as wrong
from helpers.exercises.lesson_06.handed import NO_PUSH, NOT_HANDED, OWN_DECISION
from helpers.exercises.lesson_06.turns import (
    NO_TUPLE,
    STUCK,
    around_pairs,
    arrivals,
    case,
    fault,
    like,
    named,
)  # fmt: skip
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_MANY = 17_000


def cases(seed: int) -> list[Case]:
    """Seed 0: λ = 0.5 and 3, 1, 2 and 5 workers; else other orders and other λ.

    And then also one with so many weights that a grader sees from outside how many are kept.
    """
    random, made = rng(seed, "06.5"), []
    for workers in [*WORLDS, int(random.integers(6, 10))] if seed else WORLDS:
        strength = round(float(random.uniform(0.2, 0.9)), 2) if seed else 0.5
        wanted = {0, 1, min(2, workers - 1)} if workers > 1 else {0}
        length = 2 * workers + 6 + (int(random.integers(8, 13)) if seed else 0)
        order = arrivals(random, workers, length, wanted)
        made.append(
            case(
                named(workers, f" and λ = {strength}"), handing_turns, random, order, workers,
                (strength,), reference, KNOWN,
            )
        )  # fmt: skip
    made.append(around_pairs(handing_turns, random, (0.5,), reference, KNOWN))
    if seed:
        order = [0, 1] * 7
        made.append(
            case(
                named(2, " and many weights"), handing_turns, random, order, 2, (0.5,), reference,
                {}, width=_MANY,
            )
        )  # fmt: skip
    return made


def reference(rule: Rule, strength: float) -> Rule:
    """The course's own."""
    from helpers.algorithms.servers.stale_cures import DelayCompensation

    return DelayCompensation(rule, strength)


KNOWN = {
    "the wrong sign": wrong.WrongSign,
    "by the version": wrong.ByVersion,
    "one memory for all": wrong.OneMemory,
    "not squared": wrong.NotSquared,
    "λ is missing": wrong.NoStrength,
    "remembers at the arrival": wrong.AtArrival,
    "remembers the start alone": wrong.FromStart,
    "corrects the weights": wrong.MovesAlone,
    "sums over the weights": wrong.Dot,
    "sums with what moved": wrong.DotWithMoved,
}


def _pull_gives_nothing(case: Case, seen: Observation) -> str | None:
    if seen.kind not in ("TypeError", "ValueError") or "unpack" not in seen.text:
        return None
    gives = "gives the worker nothing" if "None" in seen.text else "does not give two things"
    return (
        f"{case.name}, `pull` {gives}: return the weights and the version that "
        "`self.rule.pull(worker)` gave."
    )


def _no_memory(case: Case, seen: Observation) -> str | None:
    if seen.kind != "KeyError":
        return None
    return (
        f"{case.name}, there is nothing remembered of worker {seen.text}. The server is asked for "
        "weights through `pull`, at the start too: keep there what each worker was given."
    )


def _pair(case: Case, seen: Observation) -> str | None:
    if seen.kind != "TypeError" or "'tuple'" not in seen.text:
        return None
    return (
        f"{case.name}, a tuple stands where weights are needed ({seen.text}): "
        "`self.rule.pull(worker)` gives two things, weights and version. Remember the weights "
        "alone, `weights, version = self.rule.pull(worker)`."
    )


def _no_dot(case: Case, seen: Observation) -> str | None:
    if seen.kind not in ("RuntimeError", "TypeError"):
        return None
    if not any(said in seen.text for said in ("dot(", "1D tensors expected", "1D, but got")):
        return None
    return (
        f"{case.name}, a product of torch’s own does not fit here ({seen.kind}). ⊙ takes each "
        "weight for itself, which is what `*` does."
    )


def _memory(case: Case, seen: Observation) -> str | None:
    held, workers = seen.values[0][-1]["held"], len(case.args[0][0])
    if held is None or held <= workers + 1:
        return None
    return (
        f"{case.name}, {held} tensors are kept in the end, and with every version that is pulled "
        f"there is one more: {workers} would do, one for each worker, what it pulled last: "
        "`self.pulled[worker] = weights`."
    )


def claim(case: Case, seen: Observation) -> str | None:
    """The corrected gradient handed on, in every turn, and no more kept than a copy a worker."""
    return fault(case, seen) or _memory(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    ends = describe(seen[0].values[0][-1]["weights"])
    return (
        "Passed with 1, 2, 3 and 5 workers: every gradient is corrected by what moved since its "
        f"worker pulled. With 3 workers the weights end at {ends}."
    )


EXERCISE = Exercise(
    number="06.5",
    title="Delay compensation",
    stars=3,
    minutes=20,
    points=4,
    function="DelayCompensation",
    asks=(
        "`pull` remembers the weights that a worker is given; `arrive` hands on "
        "g + λ·g·g·(weights now − weights that this worker pulled)."
    ),
    cases=cases,
    drive=handing_turns,
    claim=claim,
    mistakes=(
        NO_PUSH,
        Mistake("keeps the pair", _pair, unfinished=True),
        Mistake("a product that does not fit", _no_dot, unfinished=True),
        like(
            "sums over the weights",
            "at turn {turn} all weights share one number, a product summed over them, as "
            "`torch.dot` and `@` give it: multiply element by element, with `*`.",
        ),
        like(
            "sums with what moved",
            "at turn {turn} g·moved is summed over the weights, as `torch.dot` and `@` do: ⊙ is "
            "`*`, element by element.",
        ),
        Mistake("pull gives nothing", _pull_gives_nothing, unfinished=True),
        Mistake("nothing remembered", _no_memory, unfinished=True),
        like(
            "the wrong sign",
            "the correction at turn {turn} points backwards: the gradient is to be carried from "
            "the pulled weights to the present ones, so it goes with (now − pulled).",
        ),
        like(
            "by the version",
            "the correction at turn {turn} counts updates: it takes the distance in the weights, "
            "`self.weights - self.pulled[worker]`, not the number of versions between them.",
        ),
        like(
            "one memory for all",
            "nothing is corrected: at turn {turn} the gradient is handed on as it came. Hand on "
            "the corrected one; and remember what each worker pulled, `self.pulled[worker]`: "
            "what the last one pulled is always the present weights.",
        ),
        like(
            "not squared",
            "the correction at turn {turn} has one g too few: the slope of the gradient is taken "
            "to be g·g, element by element.",
        ),
        like(
            "λ is missing", "the correction at turn {turn} counts whole: multiply it by `strength`."
        ),
        like(
            "remembers at the arrival",
            "at turn {turn} worker {worker} is compared with the weights before its own last "
            "update; it pulled after that. Remember in `pull`, not in `arrive`.",
        ),
        like(
            "remembers the start alone",
            "at turn {turn} worker {worker} is compared with what it pulled first: each pull "
            "replaces what is remembered.",
        ),
        like(
            "corrects the weights",
            "at turn {turn} only the correction is handed on; the gradient itself belongs to it: "
            "g + λ·g·g·(now − pulled).",
        ),
        NOT_HANDED,
        OWN_DECISION,
        Mistake("a copy a version", _memory),
        NO_TUPLE,
        STUCK,
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("wrong sign", wrong.WrongSign, hint="points backwards"),
        WrongAnswer("by version", wrong.ByVersion, hint="counts updates"),
        WrongAnswer("one memory", wrong.OneMemory, hint="handed on as it came"),
        WrongAnswer("g instead of g²", wrong.NotSquared, hint="one g too few"),
        WrongAnswer("no λ", wrong.NoStrength, hint="multiply it by `strength`"),
        WrongAnswer("remembers in arrive", wrong.AtArrival, hint="Remember in `pull`"),
        WrongAnswer("first pull alone", wrong.FromStart, hint="each pull replaces"),
        WrongAnswer("correction alone", wrong.MovesAlone, hint="only the correction"),
        WrongAnswer("torch.dot", wrong.Dot, hint="all weights share one number"),
        WrongAnswer("torch.dot with moved", wrong.DotWithMoved, hint="g·moved is summed"),
        WrongAnswer("torch.dot twice", wrong.DotTwice, hint="a product of torch’s own"),
        WrongAnswer("the pair", wrong.KeepsThePair, hint="a tuple stands where"),
        WrongAnswer("a copy a version", wrong.CopyAVersion, hint="there is one more:"),
        WrongAnswer("pull gives nothing", wrong.GivesNothing, hint="gives the worker nothing"),
        WrongAnswer("remembers too late", wrong.KeyMissing, hint="nothing remembered"),
    ),
    ranked=False,
    unseen={"inside": "whether a decision is the very one of the rule inside"},
)
