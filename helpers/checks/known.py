"""A wrong answer is its own oracle: who does what it does is told what it is told.

An answer did the same where it agrees with the known one in all in which that differs from the
course's own: how it ended, its values, bytes, messages, and whom each rank sent to, in any order.
So a mean that was not divided is recognised whether it went round a ring or through rank 0, and a
ring that sends too much by what it sends. A known answer that is right in a case explains nothing
there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from helpers.checks.apart import Run, observe_each
from helpers.checks.compare import agree
from helpers.checks.encoding import decode, encode
from helpers.checks.released import OUTCOMES, is_left_out
from helpers.checks.spec import Case, Exercise, Observation, WrongAnswer, behind, first_said
from helpers.rooms import folder

_KEPT = 200  # cases
_ASPECTS = ("ending", "values", "bytes", "messages", "sent")
# What a known wrong answer does in a case, of each aspect in which it differs from the right one.
Outcome = Mapping[str, Any]
_outcomes: dict[tuple[str, str, int], dict[str, Outcome]] = {}


def same_as(
    exercise: Exercise, case: Case, seen: Observation, run: Run = observe_each
) -> WrongAnswer | None:
    """The first known wrong answer that did in this case what an answer did.

    run: runs the known ones.
    """
    answers = [answer for answer in exercise.wrong if answer.says]
    if not answers or seen.trouble in ("timeout", "died", "signature", "not judged"):
        return None
    did = aspects(exercise, case, seen)
    outcomes = of_case(exercise, case, run)
    for answer in answers:
        differs = outcomes.get(answer.name, {})
        if seen.trouble and "ending" not in differs:
            continue  # how far an answer came before it failed says nothing
        if differs and all(agree(did[key], value) for key, value in differs.items()):
            return answer
    return None


def said(exercise: Exercise, answer: WrongAnswer, case: Case, seen: Observation) -> str | None:
    """What is said to a known wrong answer in a case, with its numbers."""
    if callable(answer.says):
        return first_said(answer.says, case, seen)
    words = answer.says.format(**{"case": case.name, **exercise.numbers(case, seen)})
    return behind(case, words)


def of_case(exercise: Exercise, case: Case, run: Run = observe_each) -> dict[str, Outcome]:
    """What each known wrong answer does in a case, by name: they run once for each case."""
    key = exercise.number, mark(case), len(exercise.wrong)  # a class has more of its own
    if key not in _outcomes:
        if len(_outcomes) >= _KEPT:  # each submission has hidden cases of its own
            del _outcomes[next(iter(_outcomes))]
        if is_left_out(exercise.reference):
            _outcomes[key] = released(exercise.number).get(key[1], {})
        else:
            _outcomes[key] = run_known(exercise, case, run)
    return _outcomes[key]


def run_known(exercise: Exercise, case: Case, run: Run) -> dict[str, Outcome]:
    """Run the known wrong answers and the course's own in a case."""
    answers = [answer for answer in exercise.wrong if answer.says]
    functions = [exercise.reference, *(answer.function for answer in answers)]
    reference, *seen = run(exercise, functions, case)
    right, found = aspects(exercise, case, reference), dict[str, Outcome]()
    for answer, one in zip(answers, seen, strict=True):
        if _is_right(exercise, case, one):
            continue
        did = aspects(exercise, case, one)
        differs = {k: did[k] for k in _ASPECTS if not agree(did[k], right[k])}
        if "ending" in differs and did["ending"][0]:
            differs = {"ending": did["ending"]}  # what it had not come to does not count
        found[answer.name] = differs
    return found


def _is_right(exercise: Exercise, case: Case, seen: Observation) -> bool:
    """Whether a known wrong answer is right in this case: it explains no wrong one then."""
    try:
        return not seen.trouble and first_said(exercise.claim, case, seen) is None
    except Exception:  # as with any answer: what cannot be asked is not right
        return False


def aspects(exercise: Exercise, case: Case, seen: Observation) -> dict[str, Any]:
    """What is compared of an observation, as plain values."""
    waiting = [[rank, words] for rank, words in sorted(seen.waiting.items())]
    # A deadlock's text names lines and moments; what an exception adds differs between processes.
    text = "" if seen.trouble == "deadlock" else seen.text.partition("\n")[0].partition(". ")[0]
    try:
        values = exercise.compared(case, seen)
    except Exception:  # an answer of any shape: then by all that it gave
        values = seen.values
    return {
        "ending": [seen.trouble, seen.kind, text, seen.rank, waiting],
        "values": values,
        "bytes": list(seen.bytes),
        "messages": list(seen.messages),
        "sent": [sorted(to) for to in seen.sent],
    }


# --- in a copy of the course without answers ------------------------------------------------------


def mark(case: Case) -> str:
    """A short text that stands for a case: its inputs."""
    fields = (case.name, case.args, case.ranks, dict(case.options))
    return hashlib.sha256(json.dumps(encode(fields)).encode()).hexdigest()[:16]


def kept(exercise: Exercise) -> dict[str, object]:
    """What the known wrong answers do in the visible cases, as JSON data for a release."""
    return {
        mark(case): {name: encode(dict(one)) for name, one in of_case(exercise, case).items()}
        for case in exercise.cases(0)
    }


@cache
def released(number: str) -> dict[str, dict[str, Outcome]]:
    """The same, as a release has it."""
    path = folder(number[:2]) / OUTCOMES
    held = json.loads(path.read_text(encoding="utf-8"))[number]
    return {
        case: {name: decode(one) for name, one in known.items()} for case, known in held.items()
    }
