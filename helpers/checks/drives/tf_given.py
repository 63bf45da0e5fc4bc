"""A graph on its way to where it is run: as bytes, and read as what a stranger has sent.

Only what computes, keeps state in the session or chooses between these may be in it. Nothing that
reads or writes files, calls Python or talks to others: where it is run, it is alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

MOST = 4 * 2**20  # bytes; a course's graph has some 50,000
_STATE = re.compile(
    r"VarHandleOp|VarIsInitializedOp|Variable(V2|Shape)?|ReadVariableOp|Assign(Add|Sub)?VariableOp"
    r"|Resource(Apply|Gather|Scatter|SparseApply|Strided|Accumulator|ConditionalAcc|CountUpTo)\w*"
    r"|\w*ConditionalAccumulator|DestroyResourceOp|(FIFO|PaddingFIFO|RandomShuffle|Priority)Queue\w*"
    r"|Queue\w+V2|TensorArray\w*|Stack\w*|Mutex\w*|ConsumeMutexLock|Empty|Multinomial|GuaranteeConst"
    r"|Random\w+|(Parameterized)?TruncatedNormal|Stateful(Uniform|Standard|Truncated|Random)\w*"
    r"|StatelessRandomGetAlg|Rng\w+|StatefulPartitionedCall|If|While|Case|Assert|CheckNumerics\w*"
    r"|Print"
)
_REFUSED = re.compile(
    r"_.*|.*(File|Reader|Dataset|PyFunc|Proto|Debug|Xla|XLA|TPU|Tpu|Table|Dump|Decode|Encode).*"
)
_SHOWN = (b"stdout", b"stderr")
_DEEPEST, _MOST_OPS = 8, 20_000  # functions within functions, and ops in all


def as_bytes(graph: Any) -> np.ndarray:
    """A tf.Graph as an array of bytes."""
    return np.frombuffer(graph.as_graph_def().SerializeToString(), np.uint8)


def definition_of(given: Any) -> Any:
    """A tf.compat.v1.GraphDef from such an array. Raises ValueError for what cannot be run here."""
    import tensorflow as tf

    if type(given) is not np.ndarray or given.dtype != np.uint8 or given.ndim != 1:
        raise ValueError("what was built is no graph.")
    if len(given) > MOST:
        raise ValueError(f"the graph has {len(given)} bytes; at most {MOST} are taken.")
    definition = tf.compat.v1.GraphDef()
    try:
        definition.ParseFromString(given.tobytes())
    except Exception:
        raise ValueError("what was built is no graph.") from None
    for node in nodes_in(definition):
        if not _may_be(node):
            raise ValueError(
                f"the graph has an op `{node.op}`, which is not run here: no Python function, no "
                "file and no data set can be part of this graph."
            )
    return definition


def nodes_in(definition: Any) -> Iterator[Any]:
    """All nodes of a graph, those of its functions too."""
    yield from definition.node
    for function in definition.library.function:
        yield from function.node_def


def _may_be(node: Any) -> bool:
    if node.op == "PrintV2":
        return node.attr["output_stream"].s in _SHOWN
    stateful = _ops_of_tf().get(node.op, False)  # others are functions of the graph's own
    return bool(not _REFUSED.fullmatch(node.op) and (_STATE.fullmatch(node.op) or not stateful))


@cache
def _ops_of_tf() -> dict[str, bool]:
    """Whether each kind of op that TensorFlow has is one with effects."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    known, session = op_def_pb2.OpList(), pywrap_tf_session
    known.ParseFromString(session.TF_GetBuffer(session.TF_GetAllOpList()))
    return {each.name: each.is_stateful for each in known.op}


@dataclass(frozen=True)
class Node:
    """One op. needs: the names of ops that it needs; "^" marks what it only waits for."""

    name: str
    op: str
    device: str
    needs: tuple[str, ...]
    container: str = ""


def flat(definition: Any) -> list[Node]:
    """All ops of a graph in the order in which they were made.

    Those of a function that is called come in front of the call, which needs them: they need what
    the call is given, and lie on its device where they name none.
    """
    functions = {each.signature.name: each for each in definition.library.function}
    found = list[Node]()
    _flatten(definition.node, "", _Call(), functions, found)
    return found


@dataclass(frozen=True)
class _Call:
    """Where ops of a function are: the device, what the call needs, the names of its arguments."""

    device: str = ""
    needs: tuple[str, ...] = ()
    arguments: frozenset[str] = frozenset()
    depth: int = 0


def _flatten(
    nodes: Any, prefix: str, call: _Call, functions: dict[str, Any], found: list[Node]
) -> None:
    """Add some ops. prefix: of their names."""
    for node in nodes:
        if call.depth > _DEEPEST or len(found) > _MOST_OPS:
            raise ValueError("the graph has too many functions within functions.")
        name, device, needs = prefix + node.name, node.device or call.device, list(call.needs)
        for each in node.input:
            place = each.removeprefix("^").split(":")[0]
            if place not in call.arguments:
                needs.append("^" * each.startswith("^") + prefix + place)
        for body in _called(node, functions):
            arguments = frozenset(arg.name for arg in body.signature.input_arg)
            inner = _Call(device, tuple(needs), arguments, call.depth + 1)
            first = len(found)
            _flatten(body.node_def, f"{name}//", inner, functions, found)
            needs += [each.name for each in found[first:]]
        container = node.attr["container"].s.decode() if "container" in node.attr else ""
        found.append(Node(name, node.op, device, tuple(needs), container))


def _called(node: Any, functions: dict[str, Any]) -> list[Any]:
    names = [node.op]
    for attribute in node.attr.values():
        names += [attribute.func.name, *(each.name for each in attribute.list.func)]
    return [functions[each] for each in names if each in functions]


def element_name(value: Any) -> str:
    """The name of the tensor or op that something in a graph is."""
    return str(getattr(value, "_as_graph_element", lambda: value)().name)


def named(definition: Any, name: Any, *kinds: str) -> Any:
    """The node of an op's or a tensor's name. kinds: which ones it can be, where not all.

    Raises ValueError for what is not in the graph.
    """
    place = str(name).split(":")[0] if type(name) is str else None
    for node in definition.node:
        if node.name == place and (not kinds or node.op in kinds):
            return node
    raise ValueError(f"there is no {name!r} in the graph.")


def shared_name(node: Any) -> str:
    """What a variable or a queue is known by on its device."""
    return node.attr["shared_name"].s.decode() or str(node.name)
