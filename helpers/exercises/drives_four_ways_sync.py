"""The driver of exercise 08.5: clients with a SyncReplicasOptimizer in one direct session."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from helpers.exercises import drives_four_ways as ways
from helpers.exercises.drives import Function
from helpers.exercises.drives_tf import settings
from helpers.exercises.drives_tf_graphs import Together, hook_parts, together
from helpers.exercises.spec import Case, Observation


def drive(fn: Function, case: Case) -> Observation:
    """See `drives_four_ways.between_sync`."""
    import tensorflow as tf
    from tensorflow.compat import v1

    servers, aggregate, rows, start, rate, rounds = case.args[0]
    clients, graphs, parts, seen = len(rows), [], [], list[dict[str, Any]]()
    line = ways.Line(start)
    for number in range(clients):
        task, made = ways._task(number, servers, clients), list[Any]()
        with tf.Graph().as_default() as graph:
            given = fn(
                task,
                ways._recording(line, made),
                ways.batch_of(number, task.device, *rows[number]),
                line.loss,
                v1.train.GradientDescentOptimizer(rate),
                aggregate,
                clients,
            )
            pair = given if isinstance(given, list | tuple) and len(given) == 2 else (given, None)
            part = ways._state(made, v1.train.get_global_step(graph))
        hooked = hasattr(pair[1], "begin") and hasattr(pair[1], "after_create_session")
        part |= hook_parts(pair[1], graph) if hooked else {}
        part |= {"update": pair[0], "size": _queue_size(graph)}
        good = hooked and ways.runs_in(ways.kind_of(pair[0])) and bool(made)
        told = {"kinds": ways.kind_of(given), "nodes": ways.nodes_of(graph), "hooked": hooked}
        told |= {"made": [ways.op_name(each.handle) for each in made], "good": good}
        seen.append({**told, "chief": part.get("sync") is not None})
        graphs.append(graph)
        parts.append(part)
    chiefs = [number for number in range(clients) if seen[number]["chief"]]
    value: dict[str, Any] = {"clients": seen, "chiefs": chiefs, "tokens": None, "rounds": []}
    if len(chiefs) != 1 or not all(each["good"] for each in seen):
        return Observation(values=[value])
    common = together(graphs, ways.cpus_for(servers, clients))
    with v1.Session(graph=common.graph, config=settings(servers + clients)) as session:
        return _run(session, common, parts, chiefs[0], rounds, value)


def _run(
    session: Any,
    common: Together,
    parts: Sequence[dict[str, Any]],
    chief: int,
    rounds: Sequence[Sequence[int]],
    value: dict[str, Any],
) -> Observation:
    """Start all clients, then round by round, until they are through or some are stuck."""

    def run(client: int, name: str, **options: Any) -> Any:
        return session.run(common.of(client, parts[client][name]), **options)

    order = [chief, *[client for client in range(len(parts)) if client != chief]]
    for client in order:
        if not all(run(client, "there")):
            run(client, "init_all")
        run(client, "init")
        if parts[client]["tokens"] is not None:
            run(client, "tokens")
    value["tokens"] = int(run(chief, "size"))
    updates = threading.Thread(target=_again, args=(lambda: run(chief, "sync"),), daemon=True)
    updates.start()
    for clients in rounds:
        stuck = _round(run, clients)
        *weights, now = run(chief, "state")
        told = {"step": int(now), "tokens": int(run(chief, "size")), "stuck": stuck}
        value["rounds"].append({**told, "weights": weights})
        if stuck:
            break
    run(chief, "close")
    updates.join(1.0)
    return Observation(values=[value])


def _round(run: Any, clients: Sequence[int]) -> list[int]:
    """One step of each of these clients, all at once; those that do not come to its end."""
    from tensorflow.compat import v1

    stuck: list[int] = []
    faults: list[Exception] = []

    def work(client: int) -> None:
        import tensorflow as tf

        try:
            run(client, "update", options=v1.RunOptions(timeout_in_ms=ways.PATIENCE_MS))
        except tf.errors.DeadlineExceededError:
            stuck.append(client)
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    return sorted(stuck)


def _again(work: Any) -> None:
    """Over and over, until the queue or the session is closed."""
    import tensorflow as tf

    try:
        while True:
            work()
    except (tf.errors.OpError, RuntimeError):
        return


def _queue_size(graph: Any) -> Any:
    """How many tokens are in the queue; None in a graph that has none."""
    import tensorflow as tf
    from tensorflow.compat import v1

    queues = [op for op in graph.get_operations() if op.type == "FIFOQueueV2"]
    for queue in queues:
        if b"sync_token_q" in queue.get_attr("shared_name"):
            with graph.as_default(), v1.colocate_with(queue):
                return tf.raw_ops.QueueSizeV2(handle=queue.outputs[0])
    return None
