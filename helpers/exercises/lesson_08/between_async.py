"""Exercise 08.4, between-graph asynchronous training.

`between_graph_async(task, container, make_variables, batch, loss, optimizer)` to write; it gives
`(before, update, after)`. The claim: clients of one job share variables on the servers, in their
container, and those of another job do not touch them; an update is the client's own; before is the
version ahead of the reading of the weights, after the one behind the update.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.algorithms.devices.four_ways import between_graph_async as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, listing
from helpers.exercises.drives.built import Built
from helpers.exercises.drives.calling import Function, wrong_signature
from helpers.exercises.drives.tf import settings
from helpers.exercises.drives.tf_given import as_bytes, definition_of, element_name, named
from helpers.exercises.drives.tf_graphs import together
from helpers.exercises.lesson_08 import graph_facts as facts
from helpers.exercises.lesson_08 import graphs, line
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, first_said
from helpers.exercises.table import wrong_answers


def _builds(fn: Function, case: Case) -> Observation:
    """`fn(task, container, make_variables, batch, loss, optimizer)` for each client, in its graph.

    The case's arguments: servers, the container of each client, rows, start and rate. No client
    follows one whose graph cannot be run.
    """
    return wrong_signature(fn, 6) or graphs.guarded(fn, lambda: _built(fn, case))


def _built(fn: Function, case: Case) -> Observation:
    import tensorflow as tf
    from tensorflow.compat import v1

    servers, containers, rows, start, rate = case.args[0]
    line, clients = graphs.Line(start), list[dict[str, Any]]()
    for number, container in enumerate(containers):
        task = graphs.task_for(number, servers, len(containers))
        with tf.Graph().as_default() as graph:
            batch = graphs.batch_of(number, task.device, *rows[number])
            optimizer = v1.train.GradientDescentOptimizer(rate)
            given = fn(task, container, line.make, batch, line.loss, optimizer)
        kinds, items = graphs.kind_of(given), given if isinstance(given, list | tuple) else [given]
        good = len(items) == 3 and all(
            map(graphs.runs_in, kinds if isinstance(kinds, list) else [])
        )
        run = list(map(element_name, items)) if good else []
        clients.append({"kinds": kinds, "run": run, "graph": as_bytes(graph)})
        if not good:
            break
    return Observation(values=[{"clients": clients}])


def _looks(case: Case, built: Any) -> Observation:
    """Run the clients on the same servers.

    The case's arguments: as above, and which client runs when. `values[0]` is `{"clients":
    [{"kinds", "ops", "nodes", "made", "counter", "missing"}], "runs": [{"client", "before",
    "after", "step", "weights"}]}`. made, counter: the names of the variables' and of the step's
    ops. missing: how many variables were not there for a client that is not its job's first.
    """
    from tensorflow.compat import v1

    servers, containers, rows, _, _, order = case.args[0]
    seen, definitions = list[dict[str, Any]](), list[Any]()
    for client in built["clients"]:
        definition = definition_of(client["graph"])
        graphs.rows_are(definition, rows)
        definitions.append(definition)
        told = {"kinds": client["kinds"], "nodes": graphs.nodes_of(definition), "missing": 0}
        ops = [named(definition, each).name for each in client["run"]]
        seen.append({**told, "ops": ops, "made": graphs.made_in(definition)})
        seen[-1]["counter"] = graphs.counter_in(definition)
        if not ops or not seen[-1]["made"] or seen[-1]["counter"] is None:
            return Observation(values=[{"clients": seen, "runs": []}])
    if len(seen) != len(containers):
        return Observation(values=[{"clients": seen, "runs": []}])
    common = together(definitions, graphs.cpus_for(servers, len(containers)))
    parts = [graphs.state_of(common, number, each) for number, each in enumerate(definitions)]
    runs = list[dict[str, Any]]()
    config = settings(servers + len(containers))
    with v1.Session(graph=common.graph, config=config) as session:
        for number, part in enumerate(parts):
            first = containers.index(containers[number]) == number
            absent = session.run(part["there"]).count(False)
            if first or absent:
                session.run(part["init_all"])
            seen[number]["missing"] = 0 if first else absent
        for number in order:
            before, _, after = session.run(common.of(number, built["clients"][number]["run"]))
            *weights, now = session.run(parts[number]["state"])
            told = {"client": number, "before": _int(before), "after": _int(after)}
            runs.append({**told, "step": int(now), "weights": weights})
    return Observation(values=[{"clients": seen, "runs": runs}])


def _int(value: Any) -> int | None:
    number = np.asarray(value) if value is not None else np.asarray("")
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
        want = {"want": _updates(rows, start, rate, names, order)}
        made.append(Case(name, ((servers, names, rows, start, rate, order),), facts=want))
    return made


def _updates(
    rows: line.Rows, start: line.Weights, rate: float, names: Sequence[str], order: Sequence[int]
) -> list[dict[str, Any]]:
    """What each run should give: its job's version before, and its weights after."""
    weights, versions = dict.fromkeys(names, start), dict.fromkeys(names, 0)
    want = list[dict[str, Any]]()
    for client in order:
        job = names[client]
        mine = line.gradient(rows[client], weights[job])
        weights[job] = line.step(weights[job], [mine], rate, 1.0)
        want.append({"before": versions[job], "weights": weights[job]})
        versions[job] += 1
    return want


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Shared, in the container; each update its own; versions in order; all in its place."""
    got = seen.values[0]
    runs, want = got["runs"], case.facts["want"]
    if len(runs) != len(want) or len(got["clients"]) != len(case.args[0][1]):
        given = describe(got["clients"][-1]["kinds"])
        yield f"it gave {given} instead of `(before, update, after)`."
    for look in (_container, _server, facts.client_misplaced, _before, _after):
        yield from look(case, seen)
    for run, right in zip(runs, want, strict=True):
        who, version = f"a run of worker {run['client']}", right["before"]
        if not line.same(run["weights"], right["weights"]):
            yield f"{who} does not leave the weights that its gradient makes."
        told = (run["before"], run["after"], run["step"])
        if told != (version, version + 1, version + 1):
            yield f"{who} at version {version} says before {told[0]} and after {told[1]}."


def _where(case: Case, seen: Observation) -> list[tuple[int, str, str, str]]:
    """Each client's shared variables: (client, name, task, container)."""
    found = []
    for number, client in enumerate(seen.values[0]["clients"]):
        for name in [*client["made"], client["counter"]]:
            kind, where, _, container = client["nodes"][name]
            if kind == "VarHandleOp":
                found.append((number, name, where, container))
    return found


def _container(case: Case, seen: Observation) -> Iterator[str]:
    names = case.args[0][1]
    wrong_ones = [v for v in _where(case, seen) if v[3] != names[v[0]]]
    for client, name, _, container in wrong_ones:
        if container:
            yield (
                f'`{name}` of worker {client} is in a container of its own, "{container}", so '
                "nobody shares it. All of a job take the name that they are given, "
                f'"{names[client]}".'
            )
        if any(v[0] == client and v not in wrong_ones for v in _where(case, seen)):
            yield (
                f"`{name}` is left outside the container. The global step is shared state too: "
                "make everything within `with v1.container(container)`."
            )
        yield (
            f"`{name}` is in no container, and so shared with every other job on these servers "
            "that has a variable of this name. Make it within `with v1.container(container)`."
        )


def _server(case: Case, seen: Observation) -> Iterator[str]:
    servers, there = case.args[0][0], _where(case, seen)
    for client, name, where, _ in there:
        if not where.startswith("/job:ps"):
            yield (
                f"`{name}` of worker {client} lies {facts.on_device(where)}, where no other client "
                "sees it. `v1.device(task.placement())` puts variables on the servers."
            )
    used = {where for client, _, where, _ in there if client == 0}
    if servers > 1 and len(used) == 1:
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
        nodes, update, after = client["nodes"], client["ops"][1], client["ops"][2]
        if not any("Apply" in nodes[n][0] for n in facts.needs(nodes, update)):
            yield "the second of the three is no update: give what `minimize` gives."
        if not _applies(nodes, update) <= facts.needs(nodes, after):
            yield (
                "nothing makes `after` wait for the update, and it may be the old version. Read "
                "the step again within `with tf.control_dependencies([update])`."
            )
        if not _reads_behind(nodes, client["counter"], _applies(nodes, update), after):
            yield (
                "`after` waits for the update, but no step is read there: others may have made "
                "updates in between, and only a new reading sees them. Call `step.read_value()` "
                "within `with tf.control_dependencies([update])`."
            )


def _reads_behind(nodes: facts.Nodes, step: str, updates: set[str], after: str) -> bool:
    """Whether `after` is made of a reading of the step that itself waits for the update."""
    return any(
        nodes[name][0] == "ReadVariableOp"
        and step in facts.needs(nodes, name, waits=False)
        and updates <= facts.needs(nodes, name)
        for name in facts.needs(nodes, after, waits=False)
    )


def _applies(nodes: facts.Nodes, update: str) -> set[str]:
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


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    where = sorted({v[2] for v in _where(cases[0], seen[0])})
    return (
        f"Passed with 1, 2, 3 and 5 workers: the variables lie on {listing(where)}, in the job's "
        "container; another job's update left them alone."
    )


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
    stars=3,
    minutes=20,
    points=4,
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
    praise=praise,
    reference=reference,
    wrong=wrong_answers("08.4", WRONG, reference),
    ranked=False,
    framework="tensorflow",
)
