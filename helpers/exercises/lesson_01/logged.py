"""Exercise 01.4, a line in the log before the assignment.

`log_then_assign(weight, value, log) -> op`. The claim: running the op writes the value from before,
then assigns; that is, in the graph the assignment cannot start before the log has been written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe
from helpers.exercises.drives_devices import logs_and_assigns
from helpers.exercises.lesson_01 import logged_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: 1, then 2, 3 and 4; else other weights and values for the number 01.4."""
    random = rng(seed, "01.4")
    numbers = [1.0, 2.0, 3.0, 4.0]
    if seed:
        size = int(random.integers(5, 12))
        numbers = [float(n) for n in random.choice(np.arange(-90, 90), size, replace=False)]
    start, *values = numbers
    name = f"For a weight of {start:g} and {count(len(values), 'run')}"
    return [Case(name, ((start, values),), facts={"log": numbers[:-1]})]


Graph = dict[str, tuple[str, list[str]]]


def _graph(seen: Observation) -> Graph:
    """The graph by name: the kind of each op and what it waits for."""
    return {name: (kind, list(inputs)) for name, kind, inputs in seen.values[0]["nodes"]}


def _before(graph: Graph, name: str) -> set[str]:
    """All ops that an op waits for, itself included."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in graph and one not in found:
            found.add(one)
            waiting += graph[one][1]
    return found


def _of_kind(graph: Graph, names: set[str], kind: str) -> list[str]:
    return sorted(name for name in names if graph[name][0] == kind)


READS = "ReadVariableOp"


def _assigns(graph: Graph, names: set[str]) -> list[str]:
    """What changes a variable among some ops: `assign`, `assign_add`, an optimizer's update."""
    kinds = {graph[name][0] for name in names}
    changing = [k for k in kinds if k.startswith(("Assign", "ResourceApply", "ResourceScatter"))]
    return sorted(name for kind in changing for name in _of_kind(graph, names, kind))


def claim(case: Case, seen: Observation) -> str | None:
    """By what was written and by what waits for what."""
    answer = seen.values[0]
    if not answer["run"]:
        return f"{case.name}, your function gave a {answer['kind']}; return one op."
    want = case.facts["log"]
    values = case.args[0][1]
    if list(answer["weight"]) != list(values):
        return f"{case.name}, the weight was {describe(list(answer['weight']))} after the runs."
    if list(answer["log"]) != list(want):
        return f"{case.name}, the log holds {describe(list(answer['log']))}, not {describe(want)}."
    graph = _graph(seen)
    ran = _before(graph, answer["run"])
    for name in _assigns(graph, ran):
        if not _before(graph, name) & set(answer["logs"]):
            return f"{case.name}, `{name}` does not wait for the log."
    return None


def _not_a_list(case: Case, seen: Observation) -> str | None:
    if seen.kind != "TypeError" or "not iterable" not in seen.text:
        return None
    return (
        f"{case.name}, `tf.control_dependencies` takes a list of ops. One op goes into brackets "
        "too: `tf.control_dependencies([op])`."
    )


def _no_op(case: Case, seen: Observation) -> str | None:
    if seen.values[0]["run"]:
        return None
    kind = seen.values[0]["kind"]
    return f"{case.name}, your function gave a {kind}; return one op that does both when it is run."


def _facts(seen: Observation) -> tuple[Graph, set[str], set[str], list[str]]:
    """The graph, what runs, the logs that run, the assignments that run."""
    answer = seen.values[0]
    graph = _graph(seen)
    ran = _before(graph, answer["run"])
    return graph, ran, ran & set(answer["logs"]), _assigns(graph, ran)


def _never_made(case: Case, seen: Observation) -> str | None:
    if seen.values[0]["logs"]:
        return None
    return f"{case.name}, `log` was never called: it gives the op that writes."


def _made_before(case: Case, seen: Observation) -> str | None:
    """The assignment was made, then the log: the dependency is on nothing."""
    answer = seen.values[0]
    _, _, logs, assigns = _facts(seen)
    names = [name for name, _, _ in answer["nodes"]]
    if logs or not assigns or names.index(assigns[0]) > names.index(answer["logs"][0]):
        return None
    return (
        f"{case.name}, nothing was logged: the assignment was made before the log, and an op gets "
        "the control dependencies that hold where it is made. Call `assign` inside the `with`."
    )


def _never_run(case: Case, seen: Observation) -> str | None:
    _, _, logs, assigns = _facts(seen)
    if logs or not assigns:
        return None
    return (
        f"{case.name}, nothing was logged. The op that writes is in the graph, but nothing that "
        "runs needs it, and so it never runs: make the assignment wait for it."
    )


def _never_assigned(case: Case, seen: Observation) -> str | None:
    _, _, logs, assigns = _facts(seen)
    if assigns or not logs:
        return None
    return f"{case.name}, the op that you gave logs but assigns nothing: return the assignment."


def _other_way_round(case: Case, seen: Observation) -> str | None:
    graph, _, logs, assigns = _facts(seen)
    if not any(_before(graph, log) & set(assigns) for log in logs):
        return None
    return (
        f"{case.name}, the log waits for the assignment and says what is there afterwards. Turn it "
        "round: the assignment waits for the log."
    )


def _logs_the_new(case: Case, seen: Observation) -> str | None:
    graph, _, logs, _ = _facts(seen)
    if not logs or any(_of_kind(graph, _before(graph, log), READS) for log in logs):
        return None
    return f"{case.name}, the log holds the new value: log what `weight` holds, not `value`."


def _waits_for_the_reading(case: Case, seen: Observation) -> str | None:
    graph, _, logs, assigns = _facts(seen)
    loose = [name for name in assigns if not _before(graph, name) & logs]
    if not loose or not any(_of_kind(graph, _before(graph, name), READS) for name in loose):
        return None
    return (
        f"{case.name}, the assignment waits until the weight has been read, but not until it has "
        "been written to the log. If the program dies in between, the line is missing."
    )


def _no_order(case: Case, seen: Observation) -> str | None:
    graph, _, logs, assigns = _facts(seen)
    if not logs or not any(not _before(graph, name) & logs for name in assigns):
        return None
    return (
        f"{case.name}, both run, but in any order: the log said {describe(_log(seen))}. A group "
        "waits for its parts; the parts do not wait for each other."
    )


def _log(seen: Observation) -> list[Any]:
    return list(seen.values[0]["log"])


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed: over {count(len(_log(seen[0])), 'run')} the log holds "
        f"{describe(_log(seen[0]))}, and in the graph every assignment waits for it."
    )


def reference(weight: Any, value: Any, log: Any) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.device_graphs import log_then_assign

    return log_then_assign(weight, value, log)


EXERCISE = Exercise(
    number="01.4",
    title="Log, then assign",
    stars=2,
    minutes=12,
    points=3,
    function="log_then_assign",
    asks=(
        "one op that writes the weight's old value by `log` and assigns the new one, where the "
        "assignment waits for the log."
    ),
    cases=cases,
    drive=logs_and_assigns,
    claim=claim,
    mistakes=(
        Mistake("not a list", _not_a_list, unfinished=True),
        Mistake("not one op", _no_op),
        Mistake("never logs", _never_made),
        Mistake("assigns nothing", _never_assigned),
        Mistake("made before the dependency", _made_before),
        Mistake("the log never runs", _never_run),
        Mistake("the other way round", _other_way_round),
        Mistake("logs the new value", _logs_the_new),
        Mistake("waits for the reading alone", _waits_for_the_reading),
        Mistake("no order", _no_order),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("after", wrong.after, hint="the log waits for the assignment"),
        WrongAnswer("made before", wrong.made_before, hint="made before the log"),
        WrongAnswer("not run", wrong.not_run, hint="nothing that runs needs it"),
        WrongAnswer("grouped", wrong.grouped, hint="A group waits for its parts"),
        WrongAnswer(
            "waits for reading", wrong.waits_for_reading, hint="until the weight has been read"
        ),
        WrongAnswer("new value", wrong.new_value, hint="the log holds the new value"),
        WrongAnswer("only the log", wrong.only_log, hint="logs but assigns nothing"),
        WrongAnswer("not a list", wrong.not_a_list, hint="takes a list of ops"),
        WrongAnswer("a pair", wrong.both, hint="return one op"),
    ),
    ranked=False,
    framework="tensorflow",
)
