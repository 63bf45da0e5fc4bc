"""The driver of exercise 08.4, and what those of clients with graphs of their own share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.engines.tf_cluster import Task
from helpers.exercises.drives import four_ways as ways
from helpers.exercises.drives.built import Built
from helpers.exercises.drives.calling import Function, wrong_signature
from helpers.exercises.drives.tf import settings
from helpers.exercises.drives.tf_given import as_bytes, definition_of, element_name, named
from helpers.exercises.drives.tf_graphs import Together, together
from helpers.exercises.spec import Case, Observation

_MADE = re.compile(rf"(?:.*/)?({'|'.join(ways.NAMES)})$")
_COUNTER = re.compile(rf"(?:.*/)?{ways.STEP}$")


def task_for(number: int, servers: int, clients: int) -> Task:
    """What a client is told of the cluster and of its place there."""
    addresses = {"worker": ["here:0"] * clients, "ps": ["here:0"] * servers}
    return Task("worker", number, addresses)


def _builds(fn: Function, case: Case) -> Observation:
    """`fn(task, container, make_variables, batch, loss, optimizer)` for each client, in its graph.

    The case's arguments: servers, the container of each client, rows, start and rate. No client
    follows one whose graph cannot be run.
    """
    return wrong_signature(fn, 6) or ways.guarded(fn, lambda: _built(fn, case))


def _built(fn: Function, case: Case) -> Observation:
    import tensorflow as tf
    from tensorflow.compat import v1

    servers, containers, rows, start, rate = case.args[0]
    line, clients = ways.Line(start), list[dict[str, Any]]()
    for number, container in enumerate(containers):
        task = task_for(number, servers, len(containers))
        with tf.Graph().as_default() as graph:
            batch = ways.batch_of(number, task.device, *rows[number])
            optimizer = v1.train.GradientDescentOptimizer(rate)
            given = fn(task, container, line.make, batch, line.loss, optimizer)
        kinds, items = ways.kind_of(given), given if isinstance(given, list | tuple) else [given]
        good = len(items) == 3 and all(map(ways.runs_in, kinds if isinstance(kinds, list) else []))
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
        ways.rows_are(definition, rows)
        definitions.append(definition)
        told = {"kinds": client["kinds"], "nodes": ways.nodes_of(definition), "missing": 0}
        ops = [named(definition, each).name for each in client["run"]]
        seen.append({**told, "ops": ops, "made": made_in(definition)})
        seen[-1]["counter"] = counter_in(definition)
        if not ops or not seen[-1]["made"] or seen[-1]["counter"] is None:
            return Observation(values=[{"clients": seen, "runs": []}])
    if len(seen) != len(containers):
        return Observation(values=[{"clients": seen, "runs": []}])
    common = together(definitions, ways.cpus_for(servers, len(containers)))
    parts = [state_of(common, number, each) for number, each in enumerate(definitions)]
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


between_async = Built(_builds, _looks, told=5)


def made_in(definition: Any) -> list[str]:
    """The ops of the model's variables, in their order."""
    found = [(_MADE.match(node.name), node) for node in definition.node if node.op == "VarHandleOp"]
    mine = [(ways.NAMES.index(match[1]), node.name) for match, node in found if match]
    return [name for _, name in sorted(mine)]


def counter_in(definition: Any) -> str | None:
    """The op of the global step."""
    nodes = (node for node in definition.node if node.op == "VarHandleOp")
    return next((str(node.name) for node in nodes if _COUNTER.match(node.name)), None)


def state_of(common: Together, client: int, definition: Any) -> dict[str, Any]:
    """What is run of a client's variables: what initialises them, who has a value, the state.

    The state is read by ops that are made here: the model's variables, and the step where there is
    one. An optimizer's local step has its own initialiser.
    """
    import tensorflow as tf
    from tensorflow.compat import v1

    raw, there, state = tf.raw_ops, list[Any](), list[Any]()
    names = {node.name for node in definition.node}
    handles = [node.name for node in definition.node if node.op == "VarHandleOp"]
    all_of_us = [
        each for each in handles if f"{each}/Assign" in names and not each.endswith(_LOCAL)
    ]
    counter = counter_in(definition)

    def on(name: str, make: Callable[[Any, Any], Any]) -> Any:
        op = common.of(client, name)
        with v1.device(None), v1.colocate_with(op, ignore_existing=True):
            return make(op.outputs[0], op.get_attr("dtype"))

    with common.graph.as_default():
        for name in all_of_us:
            there.append(on(name, lambda held, _: raw.VarIsInitializedOp(resource=held)))
        for name in [*made_in(definition), *([] if counter is None else [counter])]:
            state.append(on(name, lambda held, kind: raw.ReadVariableOp(resource=held, dtype=kind)))
    init_all = [common.of(client, f"{name}/Assign") for name in all_of_us]
    return {"state": state, "init_all": init_all, "there": there}


_LOCAL = "sync_rep_local_step"


def _int(value: Any) -> int | None:
    number = np.asarray(value) if value is not None else np.asarray("")
    return int(number) if number.ndim == 0 and number.dtype.kind in "iuf" else None
