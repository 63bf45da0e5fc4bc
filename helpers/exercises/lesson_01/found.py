"""Exercise 01.5, a model that another client has left on the servers.

`find_model(container, model) -> {name: variable}`. The claim: a session reads the values that were
left in that container, on these devices, and they are still there afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, describe
from helpers.exercises.drives_devices import looks_for_a_model
from helpers.exercises.lesson_01 import found_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

TASKS = ("/job:worker/task:0", "/job:ps/task:0", "/job:ps/task:1")
NAMES = ("weights", "bias", "scale", "table", "gain", "offset")


def cases(seed: int) -> list[Case]:
    """Seed 0: two models in two containers; else others, some of them on one server."""
    random = rng(seed, "01.5")
    if not seed:
        return [
            _case(random, "spring", [("weights", (2,), 1), ("bias", (), 2)]),
            _case(random, "autumn", [("scale", (3,), 2)]),
        ]
    made = []
    for container in ("experiment_7", "autumn"):
        names = random.permutation(NAMES)[: int(random.integers(2, 5))]
        shapes: tuple[tuple[int, ...], ...] = ((), (3,), (2, 2))
        model = [
            (str(name), shapes[int(random.integers(3))], 1 + (place % 2))
            for place, name in enumerate(names)
        ]
        made.append(_case(random, container, model))
    return made


def _case(
    random: np.random.Generator, container: str, model: list[tuple[str, tuple[int, ...], int]]
) -> Case:
    """A model in its container, and others of the same names elsewhere, with other values."""
    devices = {name: TASKS[task] for name, _, task in model}
    here = {name: TASKS[0] for name in devices}
    left = []
    for where, places in ((container, devices), ("", devices), (container, here), ("", here)):
        values = {n: _some(random, s) for n, s, _ in model}
        left.append((where, places, values))
    asked = {name: (shape, TASKS[task]) for name, shape, task in model}
    facts = {"want": left[0][2], "default": left[1][2], "here": (left[2][2], left[3][2])}
    name = f"For {count(len(model), 'variable')} in the container {container!r}"
    return Case(name, ((container, asked, list(TASKS), left),), facts=facts)


def _some(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(np.round(random.uniform(1, 9, shape), 2), np.float32)


def _first(case: Case, seen: Observation) -> tuple[str, Any] | None:
    """The first variable that was not found: its name and what there is instead."""
    found = seen.values[0]["found"]
    for name, want in case.facts["want"].items():
        if name not in found or not close(_array(found[name]), want, 1e-6):
            return name, found.get(name)
    return None


def _array(value: Any) -> Any:
    """A number as an array; anything else as it is."""
    return np.asarray(value) if type(value) is float else value


def claim(case: Case, seen: Observation) -> str | None:
    """All values, and they stay."""
    answer = seen.values[0]
    if answer["kind"] != "dict":
        return f"{case.name}, your function gave a {answer['kind']} instead of a dictionary."
    wrong = _first(case, seen)
    if wrong is not None:
        want = case.facts["want"][wrong[0]]
        return f"{case.name}, `{wrong[0]}` is {describe(wrong[1])}; {describe(want)} was left."
    extra = set(answer["found"]) - set(case.facts["want"])
    if extra:
        return f"{case.name}, {sorted(extra)[0]!r} is no variable of the model."
    for name, want in case.facts["want"].items():
        if not close(_array(answer["after"][name]), want, 1e-6):
            return f"{case.name}, `{name}` was changed on the server."
    return _only_read(case, seen) or _other_shape(case, seen)


def _handles(seen: Observation) -> list[tuple[str, str, str]]:
    return [(str(c), str(n), str(d)) for c, n, d in seen.values[0]["handles"]]


def _overwritten(case: Case, seen: Observation) -> str | None:
    after = seen.values[0]["after"]
    for name, want in case.facts["want"].items():
        if not close(_array(after[name]), want, 1e-6):
            now = describe(_array(after[name]))
            return (
                f"{case.name}, `{name}` was {describe(want)} on the server and is {now} now: "
                "it was initialised, and what was trained is lost."
            )
    return None


def _missing(case: Case, seen: Observation) -> str | None:
    answer = seen.values[0]
    name = next((n for n in case.facts["want"] if n not in answer["found"]), None)
    if answer["kind"] != "dict" or name is None:
        return None
    return f"{case.name}, `{name}` is missing in the dictionary: its keys are the model's names."


def _no_variables(case: Case, seen: Observation) -> str | None:
    if _handles(seen) or seen.values[0]["kind"] != "dict":
        return None
    return (
        f"{case.name}, there is no variable in your graph. Numbers alone find nothing: "
        "`tf.compat.v1.get_variable` names a variable, and the server knows it by that name."
    )


def _other_name(case: Case, seen: Observation) -> str | None:
    wrong = _first(case, seen)
    named = [n for _, n, _ in _handles(seen)]
    if wrong is None or wrong[0] in named or not named:
        return None
    return (
        f"{case.name}, no variable of your graph is called `{wrong[0]}`; there are "
        f"{', '.join(named)}. The server knows variables by their names."
    )


def _fixed_container(case: Case, seen: Observation) -> str | None:
    wrong, container = _first(case, seen), case.args[0][0]
    used = sorted({c for c, _, _ in _handles(seen)} - {container, ""})
    if wrong is None or not used:
        return None
    return (
        f"{case.name}, you looked into the container {used[0]!r}. Which one it is your function is "
        f"told: use the argument `container`, which is {container!r} here."
    )


def _default_container(case: Case, seen: Observation) -> str | None:
    wrong = _first(case, seen)
    if wrong is None or all(c == case.args[0][0] for c, _, _ in _handles(seen)):
        return None
    there = describe(_array(wrong[1]))
    return (
        f"{case.name}, you looked into the default container: there `{wrong[0]}` is {there}, "
        "somebody else's. Make the variables inside `with tf.compat.v1.container(…)`."
    )


def _other_device(case: Case, seen: Observation) -> str | None:
    wrong = _first(case, seen)
    if wrong is None:
        return None
    device = case.args[0][1][wrong[0]][1]
    at = next((d for _, n, d in _handles(seen) if n == wrong[0]), "")
    if _task(at) == device:
        return None
    where = f"on {_task(at)}" if at else "wherever the session likes"
    return (
        f"{case.name}, you looked for `{wrong[0]}` {where}. A container is on each device of its "
        f"own: this variable lies on {device}."
    )


def _other_type(case: Case, seen: Observation) -> str | None:
    wrong = _first(case, seen)
    if wrong is None or wrong[1] != "InvalidArgumentError":
        return None
    return (
        f"{case.name}, `{wrong[0]}` is there, but cannot be read: `InvalidArgumentError`. A "
        "variable must have the type that was left, float32, which `get_variable` takes by itself."
    )


def _only_read(case: Case, seen: Observation) -> str | None:
    shapes = seen.values[0]["shapes"]
    name = next((n for n in case.facts["want"] if n in shapes and shapes[n] is None), None)
    if name is None or not _handles(seen):
        return None
    return (
        f"{case.name}, `{name}` is no variable but something that reads one, and nobody could "
        "train it further: nothing assigns to it. Return what `get_variable` gives."
    )


def _other_shape(case: Case, seen: Observation) -> str | None:
    shapes = seen.values[0]["shapes"]
    for name, want in case.facts["want"].items():
        if shapes.get(name) not in (None, list(want.shape)):
            said = shapes[name] if type(shapes[name]) is str else tuple(shapes[name])
            return (
                f"{case.name}, the shape of `{name}` is {said} in your graph and {want.shape} on "
                "the server: the model says which shape each variable has."
            )
    return None


def _task(device: str) -> str:
    parts = [part for part in device.split("/") if part.startswith(("job:", "task:"))]
    return "/" + "/".join(parts)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    model, container = cases[0].args[0][1], cases[0].args[0][0]
    where = " and ".join(sorted({device for _, device in model.values()}))
    return (
        f"Passed: {count(len(model), 'variable')} found in the container {container!r} on {where}, "
        "and nothing was overwritten."
    )


def reference(container: str, model: Any) -> Any:
    """The course's own."""
    from helpers.algorithms.devices.device_graphs import find_model

    return find_model(container, model)


EXERCISE = Exercise(
    number="01.5",
    title="Find the model",
    stars=2,
    minutes=15,
    points=3,
    function="find_model",
    asks=(
        "a dictionary of variables by the model's names, each of its shape, on its device, in the "
        "container, and not initialised."
    ),
    cases=cases,
    drive=looks_for_a_model,
    claim=claim,
    mistakes=(
        Mistake("overwrites what was trained", _overwritten),
        Mistake("not all variables", _missing),
        Mistake("no variables", _no_variables),
        Mistake("other names", _other_name),
        Mistake("a fixed container", _fixed_container),
        Mistake("another container", _default_container),
        Mistake("another device", _other_device),
        Mistake("another type", _other_type),
        Mistake("no variable, but its value", _only_read),
        Mistake("another shape", _other_shape),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "no container", wrong.no_container, hint="you looked into the default container"
        ),
        WrongAnswer(
            "always the same container", wrong.always_spring, hint="use the argument `container`"
        ),
        WrongAnswer("in float64", wrong.in_double, hint="the type that was left"),
        WrongAnswer("only reads them", wrong.only_reads, hint="is no variable but"),
        WrongAnswer("without a shape", wrong.in_another_shape, hint="the model says which shape"),
        WrongAnswer("no device", wrong.no_device, hint="wherever the session likes"),
        WrongAnswer("unnamed", wrong.by_tf_variable, hint="there are Variable"),
        WrongAnswer(
            "a scope", wrong.in_a_scope, hint="is called `weights`; there are spring/weights"
        ),
        WrongAnswer("initialised", wrong.initialised, hint="what was trained is lost"),
        WrongAnswer("zeros", wrong.constants, hint="Numbers alone find nothing"),
        WrongAnswer("one of them", wrong.as_list, hint="is missing in the dictionary"),
    ),
    ranked=False,
    framework="tensorflow",
)
