"""Exercise 01.5, a model that another client has left on the servers.

The claim: a session reads the values that were left in that container, on these devices, and they
are still there afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from helpers.algorithms.devices.device_graphs import find_model as reference
from helpers.exercises.common import fails_with, rng
from helpers.exercises.compare import Other, close, count, describe
from helpers.exercises.drives.built import Built
from helpers.exercises.drives.calling import Function, failed, wrong_signature
from helpers.exercises.drives.tf import settings
from helpers.exercises.drives.tf_given import as_bytes, definition_of, named, shared_name
from helpers.exercises.drives.tf_graphs import Together, together
from helpers.exercises.drives.values import plain
from helpers.exercises.spec import Case, Exercise, Mistake, Observation
from helpers.exercises.table import wrong_answers

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
    name = f"For {count(len(model), 'variable')} in the container {container!r}"
    return Case(name, ((container, asked, list(TASKS), left),), facts={"want": left[0][2]})


def _some(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(np.round(random.uniform(1, 9, shape), 2), np.float32)


def _differs(case: Case, values: Mapping[str, Any]) -> str | None:
    """The first variable that has not the value that was left, where there is one."""
    for name, want in case.facts["want"].items():
        if name not in values or not close(_array(values[name]), want, 1e-6):
            return name
    return None


def _array(value: Any) -> Any:
    """A number as an array; anything else as it is."""
    return np.asarray(value) if type(value) is float else value


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """All values, and they stay."""
    answer, want = seen.values[0], case.facts["want"]
    if answer["changed"]:
        yield "the dictionary `model` has changed: whoever called needs it still."
    if answer["kind"] != "dict":
        yield f"your function gave a {answer['kind']} instead of a dictionary."
    wrong = _differs(case, answer["found"])
    if wrong is not None:
        there = describe(answer["found"].get(wrong))
        yield f"`{wrong}` is {there}; {describe(want[wrong])} was left."
    extra = set(answer["found"]) - set(want)
    if extra:
        yield f"{sorted(extra)[0]!r} is no variable of the model."
    changed = _differs(case, answer["after"])
    if changed is not None:
        yield f"`{changed}` was changed on the server."
    yield _only_read(case, seen)
    yield _other_shape(case, seen)


def _handles(seen: Observation) -> list[tuple[str, str, str]]:
    return [(str(c), str(n), str(d)) for c, n, d in seen.values[0]["handles"]]


def compared(case: Case, seen: Observation) -> str:
    """The first thing that is not as asked."""
    answer, handles, container = seen.values[0], _handles(seen), case.args[0][0]
    wrong = _differs(case, answer["found"])
    there = {name: device for _, name, device in handles}
    faults = {
        "used up": answer["changed"],
        "changed": _differs(case, answer["after"]),
        "no dictionary": answer["kind"] != "dict",
        "missing": set(case.facts["want"]) - set(answer["found"]),
        "no variables": not handles,
        "other name": wrong and wrong not in there,
        "fixed container": wrong and {c for c, _, _ in handles} - {container, ""},
        "default container": wrong and any(c != container for c, _, _ in handles),
        "other device": wrong and _task(there.get(wrong, "")) != case.args[0][1][wrong][1],
        "other type": str(answer["found"].get(wrong)) == "InvalidArgumentError",
        "other value": wrong,
        "only read": _only_read(case, seen),
        "other shape": _other_shape(case, seen),
    }
    return next((fault for fault, found in faults.items() if found), "")


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """The variable concerned, what it was and is, and where it was looked for."""
    answer, (container, model, *_) = seen.values[0], case.args[0]
    changed = _differs(case, answer["after"])
    name = changed or _differs(case, answer["found"])
    at = next((d for _, n, d in _handles(seen) if n == name), "")
    return {
        "name": name,
        "was": describe(case.facts["want"].get(name)),
        "now": describe(_array((answer["after"] if changed else answer["found"]).get(name))),
        "missing": next((n for n in case.facts["want"] if n not in answer["found"]), ""),
        "container": repr(container),
        "used": repr(next(iter(sorted({c for c, _, _ in _handles(seen)} - {container, ""})), "")),
        "where": f"on {_task(at)}" if at else "wherever the session likes",
        "device": model[name][1] if name else "",
    }


def _other_name(case: Case, seen: Observation) -> str | None:
    if compared(case, seen) != "other name":
        return None
    named = ", ".join(name for _, name, _ in _handles(seen))
    return (
        f"no variable of your graph is called `{_differs(case, seen.values[0]['found'])}`; there "
        f"are {named}."
    )


def _only_read(case: Case, seen: Observation) -> str | None:
    shapes = seen.values[0]["shapes"]
    name = next((n for n in case.facts["want"] if n in shapes and shapes[n] is None), None)
    if name is None or not _handles(seen):
        return None
    return (
        f"`{name}` is no variable but something that reads one, and nobody could train it further: "
        "nothing assigns to it. Return what `get_variable` gives."
    )


def _other_shape(case: Case, seen: Observation) -> str | None:
    shapes = seen.values[0]["shapes"]
    for name, want in case.facts["want"].items():
        if shapes.get(name) not in (None, list(want.shape)):
            said = shapes[name] if type(shapes[name]) is str else tuple(shapes[name])
            return (
                f"the shape of `{name}` is {said} in your graph and {want.shape} on the server: "
                "the model says which shape each variable has."
            )
    return None


_other_graph = fails_with(
    "in the graph.",
    "what you return is not in the default graph, where it was asked for: it was made in another, "
    "such as one of your own (`tf.Graph().as_default()`), or at an earlier call.",
    ours=True,
)


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


VARIABLES = ("VarHandleOp", "VariableV2")


def _builds_a_search(fn: Function, case: Case) -> Observation:
    """Build `fn(container, model)` as a new client: its graph, and what of it was given.

    The case's arguments: the container, and the model as {name: (shape, device)}. It is asked twice
    with one model, and the second graph counts: who uses the model up has nothing to find then.
    """
    trouble = wrong_signature(fn, 2)
    if trouble:
        return trouble
    import tensorflow as tf

    container, model = case.args[0]
    mine = dict(model)
    try:
        for _ in range(2):
            with tf.Graph().as_default() as graph:
                given = fn(container, mine)
        found = given if isinstance(given, dict) else {}
        parts = {str(name): _part(each) for name, each in found.items()}
    except Exception as error:
        return failed(error, fn)
    built = {"kind": type(given).__name__, "found": parts, "graph": as_bytes(graph)}
    return Observation(values=[{**built, "changed": mine != dict(model)}])


def _part(each: Any) -> list[str]:
    """What something of a graph is, and its name: a variable's is that of its op."""
    import tensorflow as tf

    if isinstance(each, tf.Variable):
        return ["variable", str(getattr(each, "handle", each).op.name)]
    if isinstance(each, tf.Tensor | tf.Operation):
        return ["element", str(each.name)]
    return ["other", type(each).__name__]


def _looks_for_the_model(case: Case, built: Any) -> Observation:
    """Let other clients leave models behind, and then the new one look.

    The case's arguments: the container, the model, the names of the tasks, and what the others
    leave: a list of (container, {name: device}, {name: value}). `values[0]` is {"kind", "changed":
    whether the dictionary of the model was, "found": for each name its value or the kind of an
    error, "after": the values of the first model that was left, when all is over, "handles":
    (container, name, device) of each variable that the graph names, "shapes": for each name its
    shape, None for what is no variable}.
    """
    import tensorflow as tf

    _, _, tasks, left = case.args[0]
    definition = definition_of(built["graph"])
    found = {str(name): (str(kind), str(of)) for name, (kind, of) in built["found"].items()}
    seen: dict[str, Any] = {"kind": str(built["kind"]), "handles": handles(definition)}
    seen["changed"] = bool(built["changed"])
    seen["shapes"] = {name: _shape(definition, *each) for name, each in found.items()}
    graphs, inits, variables = [], [], []
    for other in left:
        graphs.append(tf.Graph())
        init, held = _leave(graphs[-1], *other)
        inits.append(init)
        variables.append(held)
    seen |= _look([*graphs, definition], inits, variables, found, tasks)
    return Observation(values=[plain(seen)])


looks_for_a_model = Built(_builds_a_search, _looks_for_the_model, told=2)


def _shape(definition: Any, kind: str, name: str) -> list[int] | str | None:
    """A variable's shape, "unknown" where it has none; None for what is no variable."""
    if kind != "variable":
        return None
    shape = named(definition, name, *VARIABLES).attr["shape"].shape
    known = not shape.unknown_rank and all(size.size >= 0 for size in shape.dim)
    return [int(size.size) for size in shape.dim] if known else "unknown"


def _leave(graph: Any, container: str, devices: dict[str, str], values: dict[str, Any]) -> Any:
    """One client's model: the op that gives it its values, and its variables."""
    import tensorflow as tf

    v1 = tf.compat.v1
    held: dict[str, Any] = {}
    with graph.as_default(), v1.container(container):
        for name, device in devices.items():
            with tf.device(device):
                initial = np.asarray(values[name], np.float32)
                held[name] = v1.get_variable(name, initializer=initial, use_resource=True)
        return tf.group(*[variable.initializer for variable in held.values()]), held


def handles(definition: Any) -> list[tuple[str, str, str]]:
    """The variables that a graph names: container, name and device."""
    return [
        (node.attr["container"].s.decode(), shared_name(node), node.device)
        for node in definition.node
        if node.op in VARIABLES
    ]


def _look(
    graphs: list[Any],
    inits: list[Any],
    variables: list[Any],
    found: dict[str, tuple[str, str]],
    tasks: Any,
) -> dict[str, Any]:
    """Run them in one session, as if on the servers: the others first, then the new client."""
    import tensorflow as tf

    places = {task: f"/CPU:{number}" for number, task in enumerate(tasks)}
    common = together(graphs, places)
    new = len(graphs) - 1
    asked = {name: _value_of(common, new, *each) for name, each in found.items()}
    seen: dict[str, Any] = {"found": {}}
    with tf.compat.v1.Session(graph=common.graph, config=settings(len(tasks))) as session:
        for client, init in enumerate(inits):
            session.run(common.of(client, init))
        for name, each in asked.items():
            seen["found"][name] = _value(session, each)
        first = variables[0]
        seen["after"] = {k: session.run(common.of(0, v)) for k, v in first.items()}
    return seen


def _value_of(common: Together, client: int, kind: str, name: str) -> Any:
    """What to ask for: a variable is read by an op that is made here."""
    import tensorflow as tf

    if kind == "other":
        return Other(name)
    there = common.of(client, name)
    if kind == "variable" and there.type == "VarHandleOp":
        with common.graph.as_default(), tf.compat.v1.colocate_with(there):
            read = tf.raw_ops.ReadVariableOp
            return read(resource=there.outputs[0], dtype=there.get_attr("dtype"))
    return there.outputs[0] if kind == "variable" else there


def _value(session: Any, each: Any) -> Any:
    """What a variable or tensor of the new client holds, or the kind of the error."""
    import tensorflow as tf

    try:
        return each if isinstance(each, Other) else session.run(each)
    except tf.errors.OpError as error:
        return type(error).__name__


WRONG = """
overwrites what was trained
    | (name, shape) => (name, shape).assign(tf.zeros(shape)).read_value()
    `{name}` was {was} on the server and is {now} now: it was initialised, and what was trained is
    lost.
uses the model up
    | model.items() => [(name, model.pop(name)) for name in list(model)]
    the dictionary `model` is not what it was: whoever called needs it still. Go through
    `model.items()`, and take nothing out.
not all variables
    | return found => return dict(list(found.items())[:1])
    `{missing}` is missing in the dictionary: its keys are the model's names.
no variables
    | tf.compat.v1.get_variable(name, shape) => tf.zeros(shape)
    there is no variable in your graph. Numbers alone find nothing: `tf.compat.v1.get_variable`
    names a variable, and the server knows it by that name.
unnamed
    | tf.compat.v1.get_variable(name, shape) => tf.Variable(tf.zeros(shape))
    ? there are Variable
a graph of its own
    | with tf.compat.v1.container => with tf.Graph().as_default(), tf.compat.v1.container
    ? not in the default graph
a scope
    | v1.container(container) => v1.variable_scope(container)
    ? `weights`; there are spring/weights
a fixed container
    | v1.container(container) => v1.container("spring")
    you looked into the container {used}. Which one it is your function is told: use the argument
    `container`, which is {container} here.
another container
    | with tf.compat.v1.container(container): => if True:
    you looked into the default container: there `{name}` is {now}, somebody else's. Make the
    variables inside `with tf.compat.v1.container(…)`.
another device
    | tf.device(device) => tf.device(None)
    you looked for `{name}` {where}. A container is on each device of its own: this variable lies on
    {device}.
another type
    | (name, shape) => (name, shape, dtype="float64")
    `{name}` is there, but cannot be read: `InvalidArgumentError`. A variable must have the type
    that was left, float32, which `get_variable` takes by itself.
no variable, but its value
    | (name, shape) => (name, shape).read_value()
    ! _only_read
another shape
    | (name, shape) => (name, (sum(shape) + 1,))
    ! _other_shape
"""

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
        Mistake("other names", _other_name),
        Mistake("another graph", _other_graph, unfinished=True),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("01.5", WRONG, reference, _only_read, _other_shape),
    ranked=False,
    framework="tensorflow",
)
