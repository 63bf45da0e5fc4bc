"""Exercise 01.5, a model that another client has left on the servers.

The claim: a session reads the values that were left in that container, on these devices, and they
are still there afterwards. The driver, which stands for the servers, makes this file long.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from helpers.checks.common import fails_with
from helpers.checks.compare import close, count, describe
from helpers.checks.drives.built import Built
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.tf import settings
from helpers.checks.drives.tf_given import as_bytes, definition_of, named, shared_name
from helpers.checks.drives.tf_graphs import Together, task_of, together
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.devices.algorithms.device_graphs import find_model as reference

TASKS = ("/job:worker/task:0", "/job:ps/task:0", "/job:ps/task:1")
NAMES = ("weights", "bias", "scale", "table", "gain", "offset")
VARIABLES = ("VarHandleOp", "VariableV2")  # kinds of ops
Model = dict[str, tuple[tuple[int, ...], str]]  # by name: a variable's shape and its device


def cases(seed: int) -> list[Case]:
    """Seed 0: two models in two containers; else others, some of them on one server."""
    random = rng(seed, "01.5")
    if not seed:
        spring: Model = {"weights": ((2,), TASKS[1]), "bias": ((), TASKS[2])}
        autumn: Model = {"scale": ((3,), TASKS[2])}
        return [_case(random, "spring", spring), _case(random, "autumn", autumn)]
    made = []
    for container in ("experiment_7", "autumn"):
        model: Model = {}
        for place, name in enumerate(random.permutation(NAMES)[: int(random.integers(2, 5))]):
            shape = ((), (3,), (2, 2))[int(random.integers(3))]
            model[str(name)] = shape, TASKS[1 + place % 2]
        made.append(_case(random, container, model))
    return made


def _case(random: np.random.Generator, container: str, model: Model) -> Case:
    """A model in its container, and others of the same names elsewhere, with other values."""
    devices = {name: device for name, (_, device) in model.items()}
    here = dict.fromkeys(model, TASKS[0])
    left = []
    for where, places in ((container, devices), ("", devices), (container, here), ("", here)):
        drawn = {n: np.round(random.uniform(1, 9, shape), 2) for n, (shape, _) in model.items()}
        left.append((where, places, {n: np.asarray(v, np.float32) for n, v in drawn.items()}))
    name = f"For {count(len(model), 'variable')} in the container {container!r}"
    return Case(name, ((container, model, list(TASKS), left),), facts={"want": left[0][2]})


def _differs(case: Case, values: Mapping[str, Any]) -> str | None:
    """The first variable that has not the value that was left, where there is one."""
    for name, want in case.facts["want"].items():
        if name not in values or not close(values[name], want, 1e-6):
            return name
    return None


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """All values, and they stay."""
    answer, want = seen.values[0], case.facts["want"]
    if answer["changed"]:
        yield "the dictionary `model` has changed: whoever called needs it still."
    if answer["kind"] != "dict":
        yield f"your function gave a {answer['kind']} instead of a dictionary."
    if wrong := _differs(case, answer["found"]):
        there = describe(answer["found"].get(wrong))
        yield f"`{wrong}` is {there}; {describe(want[wrong])} was left."
    for extra in sorted(set(answer["found"]) - set(want)):
        yield f"{extra!r} is no variable of the model."
    if changed := _differs(case, answer["after"]):
        yield f"`{changed}` was changed on the server."
    yield from _only_read(case, seen)
    yield from _other_shape(case, seen)


def compared(case: Case, seen: Observation) -> str:
    """The first thing that is not as asked."""
    answer, handles, container = seen.values[0], seen.values[0]["handles"], case.args[0][0]
    wrong = _differs(case, answer["found"])
    there = {name: device for _, name, device in handles}
    faults = {
        "used up": answer["changed"],
        "changed": _differs(case, answer["after"]),
        "no dictionary": answer["kind"] != "dict",
        "missing": set(case.facts["want"]) - set(answer["found"]),
        "no variables": not handles,
        "scope": wrong and any(name.endswith(f"/{wrong}") for name in there),
        "other name": wrong and wrong not in there,
        "fixed container": wrong and {c for c, _, _ in handles} - {container, ""},
        "default container": wrong and any(c != container for c, _, _ in handles),
        "other device": wrong and task_of(there.get(wrong, "")) != case.args[0][1][wrong][1],
        "other type": str(answer["found"].get(wrong)) == "InvalidArgumentError",
        "other value": wrong,
        "only read": list(_only_read(case, seen)),
        "other shape": list(_other_shape(case, seen)),
    }
    return next((fault for fault, found in faults.items() if found), "")


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """The variable concerned, what it was and is, and where it was looked for."""
    answer, (container, model, *_) = seen.values[0], case.args[0]
    changed = _differs(case, answer["after"])
    name = changed or _differs(case, answer["found"])
    was, now = case.facts["want"], answer["after"] if changed else answer["found"]
    at = next((d for _, n, d in answer["handles"] if n == name), "")
    used = [*sorted({c for c, _, _ in answer["handles"]} - {container, ""}), ""][0]
    return {
        **{"name": name, "was": describe(was.get(name)), "now": describe(now.get(name))},
        "missing": next((n for n in was if n not in answer["found"]), ""),
        "named": ", ".join(name for _, name, _ in answer["handles"]),
        **{"container": repr(container), "used": repr(used)},
        "where": f"on {task_of(at)}" if at else "wherever the session likes",
        "device": model[name][1] if name else "",
    }


def _only_read(case: Case, seen: Observation) -> Iterator[str]:
    answer = seen.values[0]
    for name in case.facts["want"]:
        if answer["handles"] and answer["shapes"].get(name, "missing") is None:
            yield (
                f"`{name}` is no variable but something that reads one, and nobody could train it "
                "further: nothing assigns to it. Return what `get_variable` gives."
            )


def _other_shape(case: Case, seen: Observation) -> Iterator[str]:
    for name, want in case.facts["want"].items():
        shape = seen.values[0]["shapes"].get(name)
        if shape not in (None, list(want.shape)):
            said = shape if type(shape) is str else tuple(shape)
            yield (
                f"the shape of `{name}` is {said} in your graph and {want.shape} on the server: "
                "the model says which shape each variable has."
            )


_OTHER_GRAPH = fails_with(
    "in the graph.",
    "what you return is not in the default graph, where it was asked for: it was made in another, "
    "such as one of your own (`tf.Graph().as_default()`), or at an earlier call.",
    ours=True,
)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    model, container = cases[0].args[0][1], cases[0].args[0][0]
    where = " and ".join(sorted({device for _, device in model.values()}))
    return (
        f"Passed: {count(len(model), 'variable')} found in the container {container!r} on {where}, "
        "and nothing was overwritten."
    )


def _builds_a_search(fn: Function, case: Case) -> Observation:
    """Build `fn(container, model)` as a new client: its graph, and what of it was given.

    The case's arguments: the container, and the model as {name: (shape, device)}. It is asked twice
    with one model, and the second graph counts: who uses the model up has nothing to find then.
    """
    if trouble := wrong_signature(fn, 2):
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
        return ["variable", str(each.op.name)]
    is_there = isinstance(each, tf.Tensor | tf.Operation)
    return ["element", str(each.name)] if is_there else ["other", type(each).__name__]


def _looks_for_the_model(case: Case, built: Any) -> Observation:
    """Let other clients leave models behind, and then the new one look, all in one session.

    The case's arguments: the container, the model, the names of the tasks, and what the others
    leave: a list of (container, {name: device}, {name: value}). `values[0]` is {"kind", "changed":
    whether the dictionary of the model was, "found": for each name its value or the kind of an
    error, "after": the values of the first model that was left, when all is over, "handles":
    (container, name, device) of each variable that the graph names, "shapes": for each name its
    shape, "unknown" where it has none, None for what is no variable}.
    """
    import tensorflow as tf

    _, _, tasks, left = case.args[0]
    definition = definition_of(built["graph"])
    found = {str(name): (str(kind), str(of)) for name, (kind, of) in built["found"].items()}
    shapes: dict[str, list[int] | str | None] = dict.fromkeys(found)
    for name, (kind, of) in found.items():
        if kind == "variable":
            shape = tf.TensorShape(named(definition, of, *VARIABLES).attr["shape"].shape)
            shapes[name] = shape.as_list() if shape.is_fully_defined() else "unknown"
    places = {task: f"/CPU:{number}" for number, task in enumerate(tasks)}
    common = together([*(_left_behind(*model) for model in left), definition], places)
    with tf.compat.v1.Session(graph=common.graph, config=settings(len(tasks))) as session:
        for client in range(len(left)):
            session.run(common.of(client, "init"))
        new = len(left)
        values = {name: _value(session, common, new, *each) for name, each in found.items()}
        after = {n: _value(session, common, 0, "variable", n) for n in left[0][2]}
    handles = [
        (node.attr["container"].s.decode(), shared_name(node), node.device)
        for node in definition.node
        if node.op in VARIABLES
    ]
    told = {"kind": str(built["kind"]), "changed": bool(built["changed"])}
    seen = {**told, "found": values, "after": after, "handles": handles, "shapes": shapes}
    return Observation(values=[plain(seen)])


looks_for_a_model = Built(_builds_a_search, _looks_for_the_model, told=2)


def _left_behind(container: str, devices: dict[str, str], values: dict[str, Any]) -> Any:
    """The graph of a client that leaves a model; its op "init" gives the variables their values."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, v1.container(container):
        for name, device in devices.items():
            with tf.device(device):
                initial = np.asarray(values[name], np.float32)
                v1.get_variable(name, initializer=initial, use_resource=True)
        v1.global_variables_initializer()
    return graph


def _value(session: Any, common: Together, client: int, kind: str, name: str) -> Any:
    """What a variable or tensor of a client holds, or the kind of the error; a variable is read by
    an op that is made here."""
    import tensorflow as tf

    if kind == "other":
        return f"a {name}"
    asked = common.of(client, name)
    if kind == "variable":
        op, asked = asked, asked.outputs[0]
        if op.type == "VarHandleOp":
            with common.graph.as_default(), tf.compat.v1.colocate_with(op):
                asked = tf.raw_ops.ReadVariableOp(resource=asked, dtype=op.get_attr("dtype"))
    try:
        return session.run(asked)
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
other names
    | tf.compat.v1.get_variable(name, shape) => tf.Variable(tf.zeros(shape))
    no variable of your graph is called `{name}`; there are {named}.
a scope
    | tf.compat.v1.get_variable(name, shape)
        => tf.compat.v1.get_variable(f"{container}/{name}", shape)
    ! other names
a graph of its own
    | with tf.compat.v1.container => with tf.Graph().as_default(), tf.compat.v1.container
    ? not in the default graph
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
    size=Size(stars=2, minutes=15, points=3),
    function="find_model",
    asks=(
        "a dictionary of variables by the model's names, each of its shape, on its device, in the "
        "container, and not initialised."
    ),
    cases=cases,
    drive=looks_for_a_model,
    claim=claim,
    mistakes=(Mistake("another graph", _OTHER_GRAPH, unfinished=True),),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("01.5", WRONG, reference, _only_read, _other_shape),
    ranked=False,
    framework="tensorflow",
)
