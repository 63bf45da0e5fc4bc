"""What can be read off a graph that an answer built: what depends on what, and where it lies.

A graph is `{name: [kind of op, task, inputs, container]}`, as the driver gives it. Where building
it failed, there is what TensorFlow said.
"""

from collections.abc import Iterable, Iterator

from helpers.checks.spec import Case, Observation
from helpers.lessons.four_ways.exercises.graphs import ROWS, Nodes


def needs(nodes: Nodes, name: str, waits: bool = True) -> set[str]:
    """All that an op needs, itself too. waits: also what it only waits for."""
    found, left = set[str](), [name]
    while left:
        each = left.pop()
        if each not in found and each in nodes:
            found.add(each)
            inputs = nodes[each][2]
            left += [i.lstrip("^").split(":")[0] for i in inputs if waits or not i.startswith("^")]
    return found


def replicas_in(nodes: Nodes, names: Iterable[str]) -> set[int]:
    """The replicas whose rows are among some ops."""
    found = (ROWS.search(name) for name in names if name in nodes and nodes[name][0] == "Const")
    return {int(match.group(1)) for match in found if match}


def products(nodes: Nodes) -> Iterator[tuple[int, str, bool]]:
    """The matrix products that belong to one replica: (replica, task, whether in its gradient).

    The model has one in the loss and one in the gradient, and no other op that costs time.
    """
    for name in (name for name, node in nodes.items() if node[0] == "MatMul"):
        above = needs(nodes, name, waits=False)
        replicas = replicas_in(nodes, above)
        if len(replicas) == 1:
            backward = any(nodes[other][0] == "MatMul" for other in above - {name})
            yield min(replicas), nodes[name][1], backward


def misplaced(nodes: Nodes, replica: int) -> tuple[str, bool] | None:
    """Where a replica's products lie that are not on its task, in words, and whether only its
    gradient does. None where all are on its task."""
    wrong = [
        (where, backward)
        for r, where, backward in products(nodes)
        if r == replica and where != f"/job:worker/task:{replica}"
    ]
    if not wrong:
        return None
    return on_device(wrong[0][0]), all(backward for _, backward in wrong)


def on_device(where: str) -> str:
    """Where something lies, in words."""
    return f"on `{where}`" if where else "on no device that you named"


def replica_misplaced(case: Case, seen: Observation) -> Iterator[str]:
    """The hint for a replica of a graph of several that does not compute on its own task."""
    for replica in range(len(case.args[0][0])):
        where, gradient = misplaced(seen.values[0]["nodes"], replica) or ("", False)
        if gradient:
            yield (
                f"the loss of replica {replica} is computed on its own device, but its gradient "
                f"lies {where}. The gradient's ops are made where you ask for the gradient: ask "
                "within the same `with`."
            )
        if where:
            yield (
                f"replica {replica} computes {where}, and should on `/job:worker/task:{replica}`. "
                "Build its loss and its gradients within `with tf.device(...)` of its own device."
            )


def client_misplaced(case: Case, seen: Observation) -> Iterator[str]:
    """The hint for a worker with a graph of its own that computes elsewhere."""
    for number, client in enumerate(seen.values[0]["clients"]):
        if found := misplaced(client["nodes"], number):
            yield (
                f"worker {number} computes {found[0]}. With `v1.device(task.placement())` all but "
                "the variables is on the worker itself, its loss too."
            )
