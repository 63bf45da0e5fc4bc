"""What the grader sees of an answer from outside, and what it does not: the guide's list.

python -m helpers.instructor.seen [NN]     prints it, for docs/sandbox.md; or a lesson's rows
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from helpers.checks import everything, of_lesson
from helpers.checks.drives.built import Built
from helpers.checks.drives.ranks import Ranked
from helpers.checks.spec import Exercise

_MEMORY = "whether an argument is written into, in the memory that it lies in"
_OPEN = "messages that nobody waits for"
_RANDOM = "random states, in the memory of its process that they lie in"
_LISTS = "a list that is changed, if a second call with it gives something else"

# The keys of what each driver gives that tell of an answer and were not asked for, in words; under
# "" what no key tells.
REPORTS: dict[str, dict[str, str]] = {
    "00.1": {"open": _OPEN},
    "01.1": {"widths": _LISTS},
    "01.5": {"changed": "a model that is used up, if a second call with it finds less"},
    "02.1": {"open": _OPEN},
    "02.2": {"returned": "where the answer lies, in the argument's memory", "open": _OPEN},
    "02.3": {"returned": "where the answer lies, in the argument's memory", "open": _OPEN},
    "02.5": {
        "places": "where each rank writes first, in the memory that it lies in",
        "worked": "how many elements a rank works through",
    },
    "03.1": {"random": _RANDOM},
    "03.2": {"weights": "whether weights change, in the memory that they lie in"},
    "03.4": {"changed": _LISTS},
    "03.5": {
        "sums": "when each sum begins, and what it sums: the grader makes it",
        "ends": "when each backward ends",
        "done": "how many sums have ended by then",
        "finish": "whether something can be called",
        "kept": "what is kept of earlier steps' sums, by the memory of its process",
        "grows": "lists in which parameters come once more with every step",
    },
    "05.2": {
        "at": "every gradient that is asked for: the grader makes it",
        "changed": _MEMORY,
        "open": _OPEN,
    },
    "05.4": {"changed": _LISTS},
    "05.5": {"changed": _MEMORY},
    "05.6": {"changed": _MEMORY},
    "06.1": {"arrive": "whether `arrive` is another rule's of the course"},
    "06.2": {"changed": _LISTS},
    "06.3": {
        "inside": "whether the decision is the very one of the rule inside, by what comes of it "
        "around another rule",
    },
    "06.4": {
        "inside": "whether the decision is the very one of the rule inside, by what comes of it "
        "around another rule",
    },
    "06.5": {
        "inside": "whether the decision is the very one of the rule inside, by what comes of it "
        "around another rule",
        "held": "how many tensors it keeps, by the memory of its process",
    },
    "07.2": {"changed": ""},
    "07.4": {
        "changed": _MEMORY,
        "later": "whether an earlier result is written into, in the memory that it lies in",
    },
    "07.5": {
        "asked": "every mean that is asked for: the grader gives it",
        "changed": _MEMORY,
    },
    "07.6": {"changed": f"{_MEMORY}; {_LISTS}"},
    "09.4": {"returned": "where the answer lies, in the argument's memory", "open": _OPEN},
    "09.5": {"changed": _MEMORY, "open": _OPEN},
    "10.1": {"returned": "where the answer lies, in the argument's memory", "open": _OPEN},
    "10.3": {"changed": _MEMORY},
    "10.4": {"changed": _MEMORY, "open": _OPEN},
    "11.1": {"changed": _MEMORY},
    "11.2": {"changed": _MEMORY},
    "11.3": {
        "floats": "whether matrices are multiplied as floating-point numbers",
        "whole": "whether these are whole",
    },
    "11.4": {"changed": _MEMORY},
    "11.5": {"changed": _MEMORY},
    "11.6": {
        "changed": _MEMORY,
        "linked": "whether a gradient comes back",
        "spoiled": "whether the gradient that comes is written into",
        "torch": "whether the way back is torch's own",
    },
    "11.7": {"changed": _MEMORY},
    "12.1": {"changed": _LISTS},
    "12.2": {"changed": _MEMORY, "open": _OPEN},
    "12.4": {"changed": _MEMORY, "open": _OPEN},
    "12.5": {"open": f"{_OPEN}; every run of a layer: the grader computes it, and its seconds"},
    "13.4": {
        "order": "every run of the module, there and back: the grader computes it",
        "open": _OPEN,
        "kept": "what is kept for the way back, which lies with the grader",
        "training": "",
        "same mode": "the mode in which the module runs",
        "cast": "what the module is given",
        "ask": "whether the inputs ask for a gradient",
        "moved": "whether weights change, in the memory that they lie in",
    },
    "13.5": {
        "kept": "what is kept inside the blocks, which lies with the grader",
        "calls": "every run of a block: the grader computes it",
        "linked": "whether a gradient comes back",
        "copies": "what else is kept, by the memory of its process",
        "results": "outputs that are kept, in the memory that they lie in",
        "asked": "what a block is given",
        "late": _RANDOM,
        "drawn": "",
    },
    "14.1": {
        "products": "whether a rank computes with its own units alone: it has no others",
        "changed": _MEMORY,
        "open": _OPEN,
    },
    "14.2": {
        "pair": "whether two functions are given",
        "input": _MEMORY,
        "f": "whether a gradient that comes is written into",
        "g": "",
        "open": _OPEN,
    },
    "14.3": {"changed": _MEMORY, "open": _OPEN},
    "14.5": {"open": _OPEN, "state": "messages that hold the momentum"},
    "14.6": {
        "reached": "whether a gradient comes back",
        "forward": "the bytes that are sent there, and back",
        "backward": "",
        "saved": "",
        "held": "what is kept after forward and after backward, by the memory of its process",
        "after": "",
        "row": "",
        "changed": _MEMORY,
        "open": _OPEN,
    },
    "14.7": {
        "between": "whether something is computed between one block and the next",
        "receiving": "receives that nobody waits for",
        "changed": _MEMORY,
        "open": _OPEN,
    },
    "14.8": {
        "reached": "whether a way leads back from the answer for autograd",
        "rows": "every run of the expert, there and back: the grader computes it",
        "forward": "the bytes that are sent there, and back",
        "backward": "",
        "changed": _MEMORY,
        "open": _OPEN,
    },
    "15.1": {"changed": _MEMORY},
    "15.2": {"changed": _MEMORY},
    "15.6": {"changed": _MEMORY, "linked": "whether a way leads back from the answer for autograd"},
    "16.1": {"random": _RANDOM},
    "16.2": {"changed": "a dictionary that is changed, looked at in its process after the call"},
    "16.5": {"changed": f"{_MEMORY}; {_LISTS}"},
    "16.6": {"changed": _LISTS},
    "17.3": {
        "done": "every operation on the folder: the grader does it",
        "found": "",
        "beside": "",
    },
    "17.5": {
        "changed": "variables that are changed, looked at in its process after the call",
        "names": "",
    },
    "17.6": {
        "changed": f"{_MEMORY}; a dictionary that is changed, looked at in its process after the "
        "call",
        "open": _OPEN,
    },
    "18.2": {"": "how often it trains: the grader does it"},
    "18.3": {"": "every training that it asks for: the grader does it"},
    "18.4": {"": "whether it raises ValueError"},
    "18.5": {"": "on hidden tables and on the runs in the submission's own logbook"},
    "18.6": {"": "what it asks of the axes, as its own process says"},
}
_BY_KIND = {
    "ranks": "what it gives, each rank's messages, computing and time",
    "graph": "the graph, looked at and run by a process in which nothing of the answer has run",
    "value": "what it gives",
}


def seen(exercise: Exercise) -> str:
    """What the grader sees of an exercise's answers, in words."""
    drive = exercise.drive
    kind = "ranks" if isinstance(drive, Ranked) else "value"
    kind = "graph" if isinstance(drive, Built) else kind
    told = REPORTS.get(exercise.number, {})
    words = [w for key, w in told.items() if w and key not in exercise.unseen]
    return "; ".join(dict.fromkeys([_BY_KIND[kind], *words]))


def listed() -> str:
    """The table: each exercise, what is seen of its answers, what is not."""
    head = ["| exercise | seen from outside | not seen: decides no points |", "| --- | --- | --- |"]
    return "\n".join([*head, *rows(everything())])


def rows(exercises: Iterable[Exercise]) -> list[str]:
    """The rows of some exercises."""
    found = []
    for exercise in exercises:
        unseen = "; ".join(exercise.unseen.values()) or "–"
        found.append(f"| {exercise.number} {exercise.title} | {seen(exercise)} | {unseen} |")
    return found


if __name__ == "__main__":
    print("\n".join(rows(of_lesson(sys.argv[1]))) if len(sys.argv) > 1 else listed())
