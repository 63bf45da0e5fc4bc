"""What of an answer only its own process can say: it decides no points.

python -m helpers.grade.seen [NN]     prints it for all exercises, or for a lesson's

A driver runs beside the answer, in a process that belongs to whoever wrote that. The values that it
gives are compared with right ones, and who gives these has computed them. But a driver also notes
what an answer does and gives no value for. HINTS names these notes; the grader puts those of the
course's own answer in their place before it decides, so that nobody gains by forging them, and
nobody loses by them. What they say goes to the student's page, as a hint that costs nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from helpers.checks import everything, of_lesson
from helpers.checks.apart import observe_here
from helpers.checks.judging import is_right
from helpers.checks.spec import Case, Exercise, Observation

_WRITTEN = "whether an argument is written into"
_RANDOM = "what becomes of random states"
_LATER = "whether an earlier result is written into"
_WHERE = "whether the answer lies in the argument's own memory"
_INSIDE = "whether a decision is the very one of the rule inside"
_KEPT = "what is kept"

# By exercise, the keys of what its driver gives that are the process's word, and what they tell.
_ONLY_WRITTEN = (
    "01.5", "03.4", "05.1", "05.4", "05.5", "05.6", "06.2", "07.2", "07.5", "07.6", "09.5",
    "10.3", "10.4", "11.1", "11.2", "11.4", "11.5", "11.7", "12.1", "12.3", "12.5",
    "14.3", "15.1", "15.2", "16.2", "16.5", "16.6", "17.6",
)  # fmt: skip
HINTS: dict[str, dict[str, str]] = {
    **{number: {"changed": _WRITTEN} for number in _ONLY_WRITTEN},
    **{number: {"returned": _WHERE} for number in ("02.2", "02.3", "09.4", "10.1")},
    **{number: {"inside": _INSIDE} for number in ("06.3", "06.4")},
    "01.1": {"widths": _WRITTEN},
    "02.5": {
        "places": "where a rank writes first",
        "worked": "how many elements a rank works through",
    },
    "03.1": {"random": _RANDOM},
    "03.2": {"weights": "whether weights change"},
    "03.5": {"kept": _KEPT, "grows": "lists that grow with every step"},
    "04.3": {"reduced": "how often gradients go between the replicas"},
    "05.2": {"changed": _WRITTEN, "order": "how many pushes have come in before each answer"},
    "06.1": {"arrive": "whether `arrive` is another rule's of the course"},
    "06.5": {"inside": _INSIDE, "held": _KEPT},
    "07.4": {"changed": _WRITTEN, "later": _LATER},
    "08.3": {
        "threads": "in which thread an op is run",
        "here": "whether a run is made in no thread of its own",
    },
    "11.3": {"floats": "whether matrices are multiplied as floating-point numbers", "whole": ""},
    "11.6": {
        "changed": _WRITTEN,
        "linked": "",
        "spoiled": "",
        "torch": "whether the way back is torch's own",
    },
    **{number: {"changed": _WRITTEN, "later": _LATER} for number in ("12.2", "12.4")},
    "13.4": {
        "kept": _KEPT,
        "training": "",
        "same mode": "the mode in which the module runs",
        "cast": "what the module is given",
        "ask": "whether the inputs ask for a gradient",
        "moved": "whether weights change",
        "changed": _WRITTEN,
    },
    "13.5": {
        "kept": _KEPT,
        "linked": "",
        "copies": "",
        "results": "",
        "asked": "",
        "late": "",
        "drawn": _RANDOM,
    },
    "14.1": {"changed": _WRITTEN, "products": "how many multiplications a rank makes"},
    "14.2": {"pair": "", "input": _WRITTEN, "f": "", "g": ""},
    "14.6": {
        "reached": "",
        "forward": "which bytes are sent there, and which back",
        "backward": "",
        "saved": _KEPT,
        "held": "",
        "result": "",
        "after": "",
        "row": "",
        "changed": _WRITTEN,
    },
    "14.7": {
        "between": "whether something is computed between two blocks",
        "held": "which blocks are held together",
        "flying": "whether a message is written into on its way",
        "changed": _WRITTEN,
    },
    "14.8": {
        "reached": "",
        "rows": "what the expert is given",
        "forward": "which bytes are sent there, and which back",
        "backward": "",
        "changed": _WRITTEN,
    },
    "15.6": {"changed": _WRITTEN, "linked": "whether a way leads back for autograd"},
    "16.1": {"random": _RANDOM, "space": _WRITTEN},
    "17.5": {"changed": _WRITTEN, "names": ""},
}

# And the keys that tell of messages: the grader, which is the network, puts there what it saw.
_OPEN = "messages that nobody waits for"
_TOLD = "what is sent"
_ON_RANKS = ("00.1", "02.1", "02.2", "02.3", "09.4", "09.5", "10.1", "10.4", "12.2", "12.4", "12.5",
             "13.4", "14.1", "14.2", "14.3", "14.5", "14.6", "14.8", "17.6")  # fmt: skip
SEEN: dict[str, dict[str, str]] = {
    **{number: {"open": _OPEN} for number in _ON_RANKS},
    "00.1": {"open": _OPEN, "told": _TOLD},
    "05.2": {"open": _OPEN, "pushed": _TOLD},
    "14.5": {"open": _OPEN, "told": _TOLD},
    "14.7": {"open": _OPEN, "receiving": "receives that nobody waits for"},
}


def is_right_outside(exercise: Exercise, case: Case, seen: Observation) -> bool:
    """Whether an answer is right by what can be seen from outside."""
    keys, seen = HINTS.get(exercise.number, {}), replace(seen, written=None)
    if not keys or seen.trouble:
        return is_right(exercise, case, seen)
    right: Any = [None] * len(seen.values)
    if exercise.framework == "torch":  # else the claim takes None
        right = observe_here(exercise, [exercise.reference], case)[0].values
    tries = [seen.values, *_returned(seen.values)]
    return any(
        is_right(exercise, case, replace(seen, values=with_notes(values, right, keys)))
        for values in tries
    )


def _returned(values: Sequence[Any]) -> Iterator[list[Any]]:
    """What ranks returned in the place of what lies in their arguments: who copies it there could
    not be told from who says so."""
    after = bool(values) and all(type(each) is dict and "after" in each for each in values)
    if after and any(each.get("returned") is not None for each in values):
        yield [
            {**v, "after": v["after"] if v.get("returned") is None else v["returned"]}
            for v in values
        ]


def with_notes(value: Any, right: Any, keys: Mapping[str, str]) -> Any:
    """A value in which the notes are those of another one."""
    if type(value) is dict and value.keys() & keys and "returned" in value:
        wrapped = type(right) is not dict or "returned" not in right
        if wrapped:  # it is told around what was noted
            return with_notes(value["returned"], right, keys)
    if type(value) is dict:
        beside = right if type(right) is dict else {}
        return {
            k: beside.get(k) if k in keys else with_notes(v, beside.get(k), keys)
            for k, v in value.items()
        }
    if type(value) in (list, tuple) and isinstance(right, list | tuple):
        more = [None] * (len(value) - len(right))
        pairs = zip(value, [*right, *more], strict=False)
        return type(value)(with_notes(v, r, keys) for v, r in pairs)
    return value


def rows(exercises: Sequence[Exercise]) -> Iterator[str]:
    """What decides no points, a line an exercise."""
    for exercise in exercises:
        words = "; ".join(filter(None, HINTS.get(exercise.number, {}).values()))
        if words:
            yield f"{exercise.number} {exercise.title}: {words}"


if __name__ == "__main__":
    print("\n".join(rows(of_lesson(sys.argv[1]) if len(sys.argv) > 1 else everything())))
