"""Exercise 01.4, a line in the log before the assignment.

The claim: in the graph the assignment cannot start before the log has the value from before.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.checks.compare import count, describe
from helpers.checks.drives.built import Built
from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.tf import settings
from helpers.checks.drives.tf_given import as_bytes, definition_of, flat, named, shared_name
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.devices.algorithms.device_graphs import log_then_assign as reference

Graph = dict[str, tuple[str, list[str]]]  # by name: an op's kind, and what it waits for
SIZE, PRODUCTS = 96, 6  # what a log does before it writes
LINES = 1000  # that a log can hold


def cases(seed: int) -> list[Case]:
    """Seed 0: 1, then 2, 3 and 4, and such as are no small whole numbers; else others for 01.4."""
    random = rng(seed, "01.4")
    drawn = [[1.0, 2.0, 3.0, 4.0], [0.5, -300.25, 0.0, 7.75]]
    if seed:
        quarters = random.choice(np.arange(-4000, 4000), int(random.integers(5, 12)), replace=False)
        drawn = [[float(n) / 4 for n in quarters]]
    made = []
    for numbers in drawn:
        start, *values = numbers
        name = f"For a weight of {start:g} and {count(len(values), 'run')}"
        made.append(Case(name, ((start, values),), facts={"log": numbers[:-1]}))
    return made


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


def _reads(graph: Graph, name: str) -> bool:
    """Whether an op waits until a variable has been read."""
    return any(graph[one][0] == "ReadVariableOp" for one in _before(graph, name))


def _assigns(graph: Graph, names: set[str]) -> list[str]:
    """What changes a variable among some ops: `assign`, `assign_add`, an optimizer's update."""
    changing = ("Assign", "ResourceApply", "ResourceScatter")
    return sorted(name for name in names if graph[name][0].startswith(changing))


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """By what was written and by what waits for what."""
    answer, want = seen.values[0], case.facts["log"]
    if not answer["run"]:
        yield f"your function gave a {answer['kind']}; return one op."
    if answer["weight"] != case.args[0][1]:
        yield f"the weight was {describe(answer['weight'])} after the runs."
    if answer["log"] != want:
        yield f"the log holds {describe(answer['log'])}, not {describe(want)}."
    graph = answer["nodes"]
    for name in _assigns(graph, _before(graph, answer["run"])):
        if not _before(graph, name) & set(answer["logs"]):
            yield f"`{name}` does not wait for the log."


def compared(case: Case, seen: Observation) -> str:
    """The first thing that is not as asked, by what runs and what waits for what."""
    answer, graph = seen.values[0], seen.values[0]["nodes"]
    ran = _before(graph, answer["run"])
    logs, assigns = ran & set(answer["logs"]), _assigns(graph, ran)
    if not answer["run"] or not answer["logs"]:
        return "no log" if answer["run"] else "no op"
    if not assigns:
        return "no assignment" if logs else "neither"
    if not logs:
        made = list(graph)
        first = made.index(assigns[0]) < made.index(answer["logs"][0])
        return "assignment made first" if first else "log not run"
    if any(_before(graph, log) & set(assigns) for log in logs):
        return "log waits"
    if not any(_reads(graph, log) for log in logs):
        return "new value"
    loose = [name for name in assigns if not _before(graph, name) & logs]
    if any(_reads(graph, name) for name in loose):
        return "assignment waits for the reading"
    return "any order" if loose else ""


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What was given, and what was written to the log."""
    if seen.trouble:
        return {}
    return {"kind": seen.values[0]["kind"], "log": describe(seen.values[0].get("log", []))}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    log = seen[0].values[0]["log"]
    return (
        f"Passed: over {count(len(log), 'run')} the log holds {describe(log)}, and in the graph "
        "every assignment waits for it."
    )


def _builds_a_log(fn: Function, case: Case) -> Observation:
    """Build `fn(weight, value, log)` in a graph: that graph, and the name of the op that was given.

    The case's argument is the weight at the start.
    """
    if trouble := wrong_signature(fn, 3):
        return trouble
    import tensorflow as tf

    v1, start = tf.compat.v1, float(case.args[0][0])
    try:
        with tf.Graph().as_default() as graph:
            weight = v1.get_variable("weight", initializer=start, use_resource=True)
            value = v1.placeholder(tf.float32, (), name="value")
            matrix = v1.placeholder(tf.float32, (SIZE, SIZE), name="matrix")
            lines = v1.FIFOQueue(LINES, tf.float32, shapes=[()], shared_name="lines", name="lines")

            def log(tensor: Any) -> Any:
                product = matrix
                for _ in range(PRODUCTS):
                    product = tf.matmul(product, matrix)
                return lines.enqueue(tf.convert_to_tensor(tensor) + 0.0 * product[0, 0])

            given = fn(weight, value, log)
        run = getattr(given, "op", given)  # a tensor's, or an assignment's
    except Exception as error:
        return failed(error, fn)
    name = run.name if isinstance(run, tf.Operation) else ""
    built = {"kind": type(given).__name__, "run": name, "graph": as_bytes(graph)}
    return Observation(values=[built])


def _looks_at_the_log(case: Case, built: Any) -> Observation:
    """Run what was built, once for each value.

    The case's arguments: the weight at the start and the values. `values[0]` is {"kind": what was
    given, "nodes": the Graph, in the order in which its ops were made, "run": the name of the op
    that was given, "logs": the names of the ops that write, "log": what was written, "weight":
    after each run}.
    """
    definition = definition_of(built["graph"])
    nodes = flat(definition)
    own = {n.name for n in definition.node if n.op == "FIFOQueueV2" and shared_name(n) == "lines"}
    writes = [n for n in nodes if n.op in ("QueueEnqueueV2", "QueueEnqueueManyV2")]
    seen: dict[str, Any] = {
        "kind": str(built["kind"]),
        "nodes": {n.name: (n.op, [each.lstrip("^") for each in n.needs]) for n in nodes},
        "run": "",
        "logs": [n.name for n in writes if not own.isdisjoint(n.needs)],
    }
    if run := str(built["run"]):
        seen["run"] = named(definition, run).name
        seen |= _runs(definition, seen["run"], *case.args[0])
    return Observation(values=[plain(seen)])


logs_and_assigns = Built(_builds_a_log, _looks_at_the_log, told=1)


def _runs(definition: Any, run: str, start: float, values: Any) -> dict[str, Any]:
    """Run the op once for each value; the weight and the log are looked at by ops made here."""
    import tensorflow as tf

    raw, v1 = tf.raw_ops, tf.compat.v1
    written, after = list[float](), list[float]()
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(definition, name="built")
        weight = raw.VarHandleOp(dtype=tf.float32, shape=(), shared_name="weight")
        lines = v1.FIFOQueue(LINES, tf.float32, shapes=[()], shared_name="lines")
        init = raw.AssignVariableOp(resource=weight, value=tf.constant(start, tf.float32))
        read = raw.ReadVariableOp(resource=weight, dtype=tf.float32)
        drain = lines.dequeue_many(lines.size())
    eye = np.eye(SIZE, dtype=np.float32)
    with v1.Session(graph=graph, config=settings(1)) as session:
        session.run(init)
        for each in values:
            session.run(f"built/{run}", {"built/value:0": each, "built/matrix:0": eye})
            after.append(float(session.run(read)))
            written += [float(one) for one in session.run(drain)]
    return {"log": written, "weight": after}


WRONG = """
not a list
    | [written] => written
    `tf.control_dependencies` takes a list of ops. One op goes into brackets too:
    `tf.control_dependencies([op])`.
not one op
    | with tf.control_dependencies([written]): return => return written,
    your function gave a {kind}; return one op that does both when it is run.
never logs
    | written = log(weight.read_value()) with tf.control_dependencies([written]): return => return
    `log` was never called: it gives the op that writes.
assigns nothing
    | with tf.control_dependencies([written]): return weight.assign(value) => return written
    the op that you gave logs but assigns nothing: return the assignment.
made before the dependency
    | written = => assign = weight.assign(value); written =
    | return weight.assign(value) => return assign
    nothing was logged: the assignment was made before the log, and an op gets the control
    dependencies that hold where it is made. Call `assign` inside the `with`.
the log never runs
    | with tf.control_dependencies([written]): return => return
    nothing was logged. The op that writes is in the graph, but nothing that runs needs it, and so
    it never runs: make the assignment wait for it.
the other way round
    | log(weight.read_value()) => weight.assign(value)
    | return weight.assign(value) => return log(weight.read_value())
    the log waits for the assignment and says what is there afterwards. Turn it round: the
    assignment waits for the log.
logs the new value
    | weight.read_value() => value
    the log holds the new value: log what `weight` holds, not `value`.
waits for the reading alone
    | written = log(weight.read_value()) => old = weight.read_value(); written = log(old)
    | [written] => [old]
    | return weight.assign(value) => return tf.group(written, weight.assign(value))
    the assignment waits until the weight has been read, but not until it has been written to the
    log. If the program dies in between, the line is missing.
no order
    | with tf.control_dependencies([written]): return weight.assign(value)
        => return tf.group(written, weight.assign(value))
    both run, but in any order: the log said {log}. A group waits for its parts; the parts do not
    wait for each other.
"""

EXERCISE = Exercise(
    number="01.4",
    title="Log, then assign",
    size=Size(stars=2, minutes=12, points=3),
    function="log_then_assign",
    asks=(
        "one op that writes the weight's old value by `log` and assigns the new one, where the "
        "assignment waits for the log."
    ),
    cases=cases,
    drive=logs_and_assigns,
    claim=claim,
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("01.4", WRONG, reference),
    ranked=False,
    framework="tensorflow",
)
