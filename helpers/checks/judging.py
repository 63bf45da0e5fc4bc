"""Judge what an answer did: the claim decides, known wrong answers find the hint."""

from collections.abc import Sequence

from helpers.checks import known
from helpers.checks.apart import Run, observe_each
from helpers.checks.compare import describe, worlds
from helpers.checks.spec import Case, Exercise, Look, Observation, Verdict, behind, first_said
from helpers.checks.trouble import explain


def judge(exercise: Exercise, case: Case, seen: Observation, run: Run = observe_each) -> Verdict:
    """Judge one observation: right where the claim holds, else with the most exact hint there is.

    run: runs the known wrong answers, where it is wrong. The hint is what one of these is told that
    does the same, then what a family of mistakes says, then how it ended, then the claim's own
    sentence.
    """
    if seen.trouble == "not done":
        return Verdict("not attempted", f"Exercise {exercise.number} is not done yet.")
    if seen.trouble == "not judged":
        return Verdict("not judged", "The machine was too busy to tell. Check again.")
    if not seen.trouble and not whole(exercise, case, seen):
        return Verdict("wrong", f"{case.name}, the answer is incomplete.", "incomplete")
    fault = "" if seen.trouble else _asked(exercise.claim, case, seen, strict=True)
    if fault is None and seen.written is None:
        return Verdict("passed")
    if fault is None:
        nth = ("first", "second", "third", "fourth", "fifth")[min(seen.written or 0, 4)]
        told = f"the result is right, but your function changed its {nth} argument, which belongs "
        told += "to whoever called it: work on a copy."
        return Verdict("wrong", behind(case, told), "an argument changed")
    answer = known.same_as(exercise, case, seen, run)
    if answer is not None:
        said = _asked(lambda c, s: known.said(exercise, answer, c, s), case, seen)
        if said:
            return Verdict("wrong", said, answer.name)
    for mistake in exercise.mistakes:
        if seen.trouble and not mistake.unfinished:
            continue
        hint = _asked(mistake.look, case, seen)
        if hint:
            return Verdict("wrong", hint, mistake.name)
    name, common = explain(exercise, case, seen)
    return Verdict("wrong", common or fault or "The answer is wrong.", name)


def is_right(exercise: Exercise, case: Case, seen: Observation) -> bool:
    """Whether all is right, without a search for the reason where it is not."""
    if seen.trouble or seen.written is not None or not whole(exercise, case, seen):
        return False
    return _asked(exercise.claim, case, seen, strict=True) is None


def judge_all(exercise: Exercise, cases: Sequence[Case], seen: Sequence[Observation]) -> Verdict:
    """Judge a whole check: the first case that is not right decides."""
    for case, observation in zip(cases, seen, strict=False):
        verdict = judge(exercise, case, observation)
        if verdict.status != "passed":
            return verdict
    if len(seen) < len(cases):
        return Verdict("wrong", f"{cases[len(seen)].name}, there was no answer.", "no answer")
    return Verdict("passed", _praise(exercise, cases, seen))


def _praise(exercise: Exercise, cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    if isinstance(exercise.praise, str):
        return exercise.praise.replace("{worlds}", worlds(cases))
    return exercise.praise(cases, seen)


def whole(exercise: Exercise, case: Case, seen: Observation) -> bool:
    """Whether an observation holds something for every rank: it may come from a stranger."""
    if not exercise.ranked:
        return len(seen.values) == 1
    lists = (seen.values, seen.bytes, seen.messages, seen.sent, seen.seconds)
    return all(len(each) == case.ranks for each in lists)


def _asked(look: Look, case: Case, seen: Observation, strict: bool = False) -> str | None:
    """Ask one question about an answer of any shape: what cannot be asked does not hold.

    strict: it is the claim, and what cannot be asked is no right answer.
    """
    try:
        return first_said(look, case, seen)
    except Exception:  # the answer may be anything at all
        values = ", ".join(describe(v) for v in seen.values[:3])
        what = f"{case.name}, your function gave {values}, which is not what was asked for."
        return what if strict else None
