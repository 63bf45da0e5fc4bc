"""How a way averages its gradients: how many sums a step, how large, and whether they start early.

Three ways to look: our buckets and DDP's are watched through hooks; Horovod writes a timeline;
of TensorFlow's strategies the compiled graph is read. Only rank 0 is looked at.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from helpers.lessons.frameworks.experiments import setting
from helpers.lessons.frameworks.experiments.ways import find, on_ranks, run_rank, start_horovod

if TYPE_CHECKING:
    from helpers.engine.comm import Comm

WIDE = (64, 1024, 1024, 1024, 10)

# Of each step: when each gradient was there, and of each sum when it began and its bytes.
Steps = list[tuple[list[float], list[tuple[float, int]]]]


class Measured(NamedTuple):
    """How one way averages gradients.

    gradients: tensors of gradients in a step. sums: the bytes of each all-reduce of a typical
    step, in order. early: whether the first one begins before the last gradient is there. how: it
    was seen. given, used: rows of a step that the program hands over in a process, and that one
    replica computes with.
    """

    gradients: int
    sums: list[int]
    early: bool
    how: str
    given: int = 0
    used: int = 0


def measure(way: str, widths: Sequence[int] = WIDE, steps: int = 8, **pieces: Any) -> Measured:
    """Train a few steps on two ranks and look how gradients are averaged.

    widths: of a network with more to send than the lesson's, whose gradients, 9.6 KB in all, fit
    any bucket. steps: 3 or more; the first ones are left out: DDP sorts its buckets anew after the
    first one. pieces: functions of one's own, as for `train`, where the way is not watched through
    them. Raises what `train` raises.

    Example: `measure("torch DDP", widths=setting.WIDTHS).sums` is `[9640]`.
    """
    framework, whole = find(way).framework, setting.task(steps, widths)
    look = {"torch": by_hooks, "horovod": by_timeline, "tensorflow": by_graph}[framework]
    os.environ["HOROVOD_TIMELINE"] = "DYNAMIC"  # read when a rank of Horovod starts
    try:
        found: Measured = on_ranks(look, way, whole, 2, pieces)[0]
    finally:
        del os.environ["HOROVOD_TIMELINE"]
    rows = whole.y.shape[1]
    return found._replace(given=rows if framework == "tensorflow" else rows // 2, used=rows // 2)


def typical(steps: Steps, how: str) -> Measured:
    """A step with the most usual number of sums, and whether most of its kind start early."""
    later = steps[2:]
    usual = statistics.mode(len(sums) for _, sums in later)
    alike = [(ready, sums) for ready, sums in later if len(sums) == usual]
    early = [min(start for start, _ in sums) < max(ready) for ready, sums in alike]
    gradients, sums = alike[len(alike) // 2]
    return Measured(len(gradients), [n for _, n in sums], statistics.mode(early), how)


def by_hooks(
    comm: Comm, way: str, whole: setting.Task, ranks: int, pieces: dict[str, Any]
) -> Measured:
    """Watch torch: a hook on every parameter, and our own or DDP's sum."""
    import time

    ready: list[float] = []
    sums: list[tuple[float, int]] = []

    def watch(model: Any) -> None:
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(
                lambda _: ready.append(time.perf_counter())
            )

    def wrap_own(model: Any, comm: Comm) -> Any:
        from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel
        from helpers.lessons.messages.algorithms.collectives import all_reduce_ring

        def start(flat: Any) -> Any:
            # Where the sum is asked for: when its thread gets a core says nothing of buckets.
            sums.append((time.perf_counter(), flat.numel() * flat.element_size()))
            return comm.background(all_reduce_ring, flat)

        watch(model)
        return DataParallel(model, comm, start=start)

    def wrap_ddp(model: Any) -> Any:
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        from torch.nn.parallel import DistributedDataParallel

        def reduce(state: Any, bucket: Any) -> Any:
            flat = bucket.buffer()
            sums.append((time.perf_counter(), flat.numel() * flat.element_size()))
            return default_hooks.allreduce_hook(state, bucket)

        reduce.__annotations__.clear()  # DDP insists on types here, not on their names
        watch(model)
        replica = DistributedDataParallel(model)
        replica.register_comm_hook(None, reduce)
        return replica

    wrap = wrap_own if way == "own" else wrap_ddp
    run_rank(comm, way, whole, ranks, {**pieces, "wrap": wrap})
    each = 2 * (len(whole.widths) - 1)
    return typical(by_step(ready, sums, each), "hooks on the parameters and on the sum")


def by_step(ready: list[float], sums: list[tuple[float, int]], each: int) -> Steps:
    """Sort what was seen into steps of `each` gradients; a sum belongs to the step it begins in."""
    groups = [sorted(ready)[start : start + each] for start in range(0, len(ready), each)]
    ends = [group[0] for group in groups[1:]] + [float("inf")]
    return [
        (group, [entry for entry in sums if group[0] <= entry[0] < end])
        for group, end in zip(groups, ends, strict=True)
    ]


def by_timeline(
    comm: Comm, way: str, whole: setting.Task, ranks: int, pieces: dict[str, Any]
) -> Measured | None:
    """Have Horovod write its timeline, and read it; rank 0 alone has one."""
    import importlib
    import json
    import tempfile

    if way != "horovod torch":
        start_horovod()
    hvd = importlib.import_module(
        "horovod.torch" if way == "horovod torch" else "horovod.tensorflow"
    )
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "timeline.json")
        hvd.start_timeline(file)
        comm.barrier()
        run_rank(comm, way, whole, ranks, pieces)
        hvd.stop_timeline()
        if comm.rank:
            return None
        with open(file, encoding="utf-8") as stream:
            text = stream.read().strip().rstrip(",").rstrip("]").rstrip().rstrip(",")
    ready, sums = read_timeline(json.loads(text + "]"))
    each = 2 * (len(whole.widths) - 1)
    return typical(by_step(ready, sums, each), "Horovod's timeline")


def read_timeline(events: list[dict[str, Any]]) -> tuple[list[float], list[tuple[float, int]]]:
    """When gradients were there, and the sums, each with its bytes, in microseconds.

    A tensor is a process of the timeline. Tensors that travel together begin one after the other
    with nothing that ends in between. Single numbers are no gradients: they are left out.
    """
    ready: list[tuple[float, int]] = []
    sums: list[tuple[float, list[int]]] = []
    nbytes: dict[int, int] = {}
    together = False
    for event in events:
        name, tensor = event.get("name", ""), event.get("pid", 0)
        if name == "NEGOTIATE_ALLREDUCE":
            ready.append((event["ts"], tensor))
        if name == "GLOO_ALLREDUCE":
            if not together:
                sums.append((event["ts"], []))
            sums[-1][1].append(tensor)
        if event["ph"] in "BE":
            together = name == "GLOO_ALLREDUCE"
        shape = event.get("args", {}).get("shape", "[]").strip("[]")
        if shape:
            nbytes[tensor] = 4 * int(np.prod([int(n) for n in shape.split(",")]))
    sent = [(start, sum(nbytes.get(t, 0) for t in tensors)) for start, tensors in sums]
    return [start for start, t in ready if t in nbytes], [each for each in sent if each[1]]


def by_graph(
    comm: Comm, way: str, whole: setting.Task, ranks: int, pieces: dict[str, Any]
) -> Measured:
    """Read the graphs that TensorFlow compiles while it trains.

    A sum in a graph begins when all that goes into it is there. So it is early where there are
    several, and the first need not wait for the last gradient.
    """
    from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function

    made: list[Any] = []
    usual = Function.__init__

    def remember(self: Any, *args: Any, **options: Any) -> None:
        made.append(self)
        usual(self, *args, **options)

    Function.__init__ = remember
    try:
        run_rank(comm, way, whole, ranks, pieces)
    finally:
        Function.__init__ = usual
    found = [
        collectives(concrete.graph.as_graph_def(add_shapes=True))
        for function in made
        for concrete in function._list_all_concrete_functions()
    ]
    large = [n for n in max(found, key=sum) if n > 4]  # the others are metrics
    sums = large[:: 1 if find(way).processes else ranks]
    return Measured(2 * (len(whole.widths) - 1), sums, len(sums) > 1, "the compiled graph")


def collectives(graph: Any) -> list[int]:
    """The bytes of every all-reduce in a graph, those of its functions left out."""
    sizes = []
    for node in graph.node:
        if node.op == "CollectiveReduceV2":
            (shape,) = node.attr["_output_shapes"].list.shape
            sizes.append(4 * int(np.prod([dim.size for dim in shape.dim])))
    return sizes
