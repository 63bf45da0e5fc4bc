"""Exercise 08.4, between-graph asynchronous training.

`between_graph_async(task, container, make_variables, batch, loss, optimizer)` to write; it gives
`(before, update, after)`. The claim: clients of one job share variables on the servers, in their
container, and those of another job do not touch them; an update is the client's own; before is the
version ahead of the reading of the weights, after the one behind the update. The file is long since
each of these is looked for in the graph: a run need not show it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from helpers.checks.compare import count, describe, listing
from helpers.checks.drives.built import Built
from helpers.checks.drives.calling import Function
from helpers.checks.drives.tf_given import as_bytes, element_name
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, first_said, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.four_ways.algorithms.four_ways import between_graph_async as reference
from helpers.lessons.four_ways.exercises import facts, graphs, line


@graphs.builds(arguments=6)
def _builds(fn: Function, servers: int, containers: Any, rows: Any, start: Any, rate: float) -> Any:
    """`fn(task, container, make_variables, batch, loss, optimizer)` for each client, in its graph.

    containers: of each client. No client follows one whose graph cannot be run.
    """
    import tensorflow as tf
    from tensorflow.compat import v1

    (make, loss), clients = graphs.model(start), list[dict[str, Any]]()
    for number, container in enumerate(containers):
        task = graphs.task_for(number, servers, len(containers))
        with tf.Graph().as_default() as graph:
            batch = graphs.batch_of(number, task.device, *rows[number])
            optimizer = v1.train.GradientDescentOptimizer(rate)
            given = fn(task, container, make, batch, loss, optimizer)
        kinds, items = graphs.kind_of(given), given if isinstance(given, list | tuple) else [given]
        good = len(items) == 3 and all(kind in graphs.OPS for kind in kinds)
        run = list(map(element_name, items)) if good else []
        clients.append({"kinds": kinds, "run": run, "graph": as_bytes(graph)})
        if not good:
            break
    return {"clients": clients}


def _looks(case: Case, built: Any) -> Observation:
    """Run the clients on the same servers.

    The case's arguments: as above, and which client runs when. `values[0]` is `{"clients":
    [{"kinds", "ops", "nodes", "made", "counter"}], "runs": [{"client", "before", "after", "step",
    "weights"}]}`. made, counter: the names of the variables' and of the step's ops.
    """
    from tensorflow.compat import v1

    servers, containers, rows, _, _, order = case.args[0]
    seen, definitions, runs = list[dict[str, Any]](), list[Any](), list[dict[str, Any]]()
    for client in built["clients"]:
        definition, nodes = graphs.opened(client["graph"], rows)
        ops = [each.split(":")[0] for each in client["run"]]
        made, counter = graphs.made_in(definition), graphs.counter_in(definition)
        told = {"kinds": client["kinds"], "nodes": nodes, "ops": ops}
        seen.append({**told, "made": made, "counter": counter})
        definitions.append(definition)
    good = all(each["ops"] and each["made"] and each["counter"] for each in seen)
    if not good or len(seen) != len(containers):
        return Observation(values=[{"clients": seen, "runs": runs}])
    common, config = graphs.cluster(definitions, servers, len(containers))
    parts = [graphs.state_of(common, number, each) for number, each in enumerate(definitions)]
    with v1.Session(graph=common.graph, config=config) as session:
        for number, part in enumerate(parts):
            first = containers.index(containers[number]) == number
            if first or not all(session.run(part["there"])):
                session.run(part["init_all"])
        for number in order:
            before, _, after = session.run(common.of(number, built["clients"][number]["run"]))
            *weights, now = session.run(parts[number]["state"])
            told = {"client": number, "before": _int(before), "after": _int(after)}
            runs.append({**told, "step": int(now), "weights": weights})
    return Observation(values=[{"clients": seen, "runs": runs}])


def _int(value: Any) -> int | None:
    number = np.asarray(value)
    return int(number) if number.ndim == 0 and number.dtype.kind in "iuf" else None


between_async = Built(_builds, _looks, told=5)


def cases(seed: int) -> list[Case]:
    """3 clients and one of another job, on 2 servers; then 1, 2 and 5 on one. Hidden: one such."""
    random = rng(seed, "08.4")
    worlds = [(3, 2, True), (1, 1, False), (2, 1, False), (5, 2, False)]
    if seed:
        worlds = [(int(random.integers(2, 4)), 2, bool(seed % 2))]
    made = []
    for workers, servers, other in worlds:
        clients = workers + other
        names = [f"job_{random.integers(1, 100)}"] * workers
        names += [f"job_{random.integers(100, 200)}"] * other
        rows, start, rate = line.world(random, clients)
        order = [clients - 1, 0, *random.integers(0, clients, 2).tolist()]
        name = f"With {count(workers, 'worker')} on {count(servers, 'server')}"
        name += " and a worker of another job" if other else ""
        states, want = {job: [start] for job in names}, []
        for client in order:
            mine = states[names[client]]
            mine.append(line.step(mine[-1], [rows[client]], rate))
            want.append({"before": len(mine) - 2, "weights": mine[-1]})
        args = (servers, names, rows, start, rate, order)
        made.append(Case(name, (args,), facts={"want": want}))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Shared, in the container; each update its own; versions in order; all in its place."""
    got, want = seen.values[0], case.facts["want"]
    if len(got["runs"]) != len(want) or len(got["clients"]) != len(case.args[0][1]):
        given = describe(got["clients"][-1]["kinds"])
        yield f"it gave {given} instead of `(before, update, after)`."
    for look in (_container, _server, facts.client_misplaced, _before, _after):
        yield from look(case, seen)
    for run, right in zip(got["runs"], want, strict=True):
        who, version = f"a run of worker {run['client']}", right["before"]
        if not line.same(run["weights"], right["weights"]):
            yield f"{who} does not leave the weights that its gradient makes."
        told = (run["before"], run["after"], run["step"])
        if told != (version, version + 1, version + 1):
            yield f"{who} at version {version} says before {told[0]} and after {told[1]}."


def _where(seen: Observation) -> list[tuple[int, str, str, str]]:
    """Each client's shared variables: (client, name, task, container)."""
    return [
        (number, name, client["nodes"][name][1], client["nodes"][name][3])
        for number, client in enumerate(seen.values[0]["clients"])
        for name in [*client["made"], client["counter"]]
    ]


def _container(case: Case, seen: Observation) -> Iterator[str]:
    names = case.args[0][1]
    wrong_ones = [v for v in _where(seen) if v[3] != names[v[0]]]
    for client, name, _, container in wrong_ones:
        if container:
            yield (
                f'`{name}` of worker {client} is in a container of its own, "{container}", so '
                "nobody shares it. All of a job take the name that they are given, "
                f'"{names[client]}".'
            )
        if any(v[0] == client and v not in wrong_ones for v in _where(seen)):
            yield (
                f"`{name}` is left outside the container. The global step is shared state too: "
                "make everything within `with v1.container(container)`."
            )
        yield (
            f"`{name}` is in no container, and so shared with every other job on these servers "
            "that has a variable of this name. Make it within `with v1.container(container)`."
        )


def _server(case: Case, seen: Observation) -> Iterator[str]:
    for client, name, where, _ in _where(seen):
        if not where.startswith("/job:ps"):
            yield (
                f"`{name}` of worker {client} lies {facts.on_device(where)}, where no other client "
                "sees it. `v1.device(task.placement())` puts variables on the servers."
            )
    used = {where for client, _, where, _ in _where(seen) if client == 0}
    if case.args[0][0] > 1 and len(used) == 1:
        yield (
            f"all variables lie on `{used.pop()}`, and the other server has nothing. "
            "`task.placement()` gives them to the servers in turn."
        )


def _before(case: Case, seen: Observation) -> Iterator[str]:
    for client in seen.values[0]["clients"]:
        nodes, (before, update, _) = client["nodes"], client["ops"]
        if any("Grad" in nodes[n][0] for n in facts.needs(nodes, before) & _applies(nodes, update)):
            yield "what stands first waits for the update: `before, update, after`."
        computed = [name for name, node in nodes.items() if node[0] == "MatMul"]
        if not all(before in facts.needs(nodes, name) for name in computed):
            yield (
                "nothing makes the worker read `before` ahead of the weights. It may be read late, "
                "and the gradient look fresher than it is. Build the loss within `with "
                "tf.control_dependencies([before])`."
            )


def _after(case: Case, seen: Observation) -> Iterator[str]:
    for client in seen.values[0]["clients"]:
        nodes, (_, update, after) = client["nodes"], client["ops"]
        updates = _applies(nodes, update)
        if not any("Apply" in nodes[n][0] for n in updates):
            yield "the second of the three is no update: give what `minimize` gives."
        if not updates <= facts.needs(nodes, after):
            yield (
                "nothing makes `after` wait for the update, and it may be the old version. Read "
                "the step again within `with tf.control_dependencies([update])`."
            )
        if not any(
            nodes[name][0] == "ReadVariableOp"
            and client["counter"] in facts.needs(nodes, name, waits=False)
            and updates <= facts.needs(nodes, name)
            for name in facts.needs(nodes, after, waits=False)
        ):
            yield (
                "`after` waits for the update, but no step is read there: others may have made "
                "updates in between, and only a new reading sees them. Call `step.read_value()` "
                "within `with tf.control_dependencies([update])`."
            )


def _applies(nodes: graphs.Nodes, update: str) -> set[str]:
    """The ops of an update that change something."""
    kinds = ("Apply", "AssignAdd")
    return {n for n in facts.needs(nodes, update) if any(k in nodes[n][0] for k in kinds)}


def compared(case: Case, seen: Observation) -> Any:
    """What is in its place, and what each of the three does; not by which ops it does so."""
    got = seen.values[0]
    nodes, ops, counter = (got["clients"][-1][key] for key in ("nodes", "ops", "counter"))
    if not ops:
        return "not three"
    if counter is None:
        return "no global step"
    update = [any("Apply" in nodes[each][0] for each in facts.needs(nodes, op)) for op in ops]
    looks = (_container, _server, facts.client_misplaced)
    amiss = [first_said(look, case, seen) for look in looks]
    return [update, ops[0] == ops[2], [run["step"] for run in got["runs"]], *amiss]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name; nothing of an answer that did not return."""
    if seen.trouble:
        return {}
    kinds = seen.values[0]["clients"][-1]["kinds"]
    gave = describe(kinds) if isinstance(kinds, list) else f"a {describe(kinds)}"
    return {
        "gave": "one op" if kinds in ("operation", "tensor") else gave,
        "runs": count(len(seen.values[0]["runs"]), "run"),
    }


WRONG = """
no container
    | v1.container(container) => v1.container("")
    ? is in no container
a container each
    | v1.container(container) => v1.container(f"{container}_{task.index}")
    ? in a container of its own
the step outside
    | step, variables = v1.train.get_or_create_global_step(), make_variables()
        => with v1.container(""): step = v1.train.get_or_create_global_step()
    | before = => variables = make_variables(); before =
    ? is left outside the container
all on the worker
    | task.placement() => task.device
    ? where no other client sees it
all on one server
    | task.placement() => lambda op: "/job:ps/task:0" if op.type == "VarHandleOp" else task.device
    ? the other server has nothing
loss outside
    | mine = loss => with v1.device(None): mine = loss
    | update = optimizer => with v1.device(None): update = optimizer
    ? computes on no device
before at any time
    | [before] => []
    ? ahead of the weights. It
after at any time
    | [update] => []
    ? wait for the update
counts itself
    | after = step.read_value() => after = before + 1
    ? no step is read there
no global step
    | v1.train.get_or_create_global_step() => v1.get_variable("steps", (), tf.int64)
    the graph has no global step. Make it with `v1.train.get_or_create_global_step()`: the version
    that all clients share.
no step
    | mine, step, => mine,
    after {runs} the global step is still 0: hand it to `minimize` as `global_step`.
version after is the one before
    | update, after => update, before
    `before` and `after` are one and the same reading. The version after the update is one higher:
    read the step anew, `step.read_value()`.
one
    | return before, update, after => return update
    it gave {gave}, not `before, update, after`.
update first
    | return before, update => return update, before
    the order is `before, update, after`.
a placement for tf.device
    | v1.device( => tf.device(
    `tf.device` takes the name of a device and no placement. `v1.device(task.placement())` takes it.
"""

EXERCISE = Exercise(
    number="08.4",
    title="A client a worker",
    size=Size(stars=3, minutes=20, points=4),
    function="between_graph_async",
    asks=(
        "`(before, update, after)`: the version ahead of the weights, the worker's own update, the "
        "version behind it; variables and step on the servers and in the container, the rest on "
        "the worker."
    ),
    cases=cases,
    drive=between_async,
    claim=claim,
    mistakes=(
        Mistake("not in the container", _container),
        Mistake("variables in the wrong place", _server),
        Mistake("computes elsewhere", facts.client_misplaced),
        Mistake("before is not ahead", _before),
        Mistake("after is not behind", _after),
    ),
    numbers=numbers,
    compared=compared,
    praise=lambda cases, seen: (
        "Passed with 1, 2, 3 and 5 workers: the variables lie on "
        f"{listing(sorted({where for _, _, where, _ in _where(seen[0])}))}, in the job's "
        "container; another job's update left them alone."
    ),
    reference=reference,
    wrong=wrong_answers("08.4", WRONG, reference),
    ranked=False,
    framework="tensorflow",
)
