"""All-reduces built in lesson 02 beside gloo's own and a plain copy of memory."""

from __future__ import annotations

from typing import Any

import helpers
from benchmarks import goals
from benchmarks.report import Report, ratio, slowest
from helpers.notebook.measure import in_turn

SIZES_MB = (1, 10, 40)
RANKS = (2, 4)
REPEATS = 15
SHARED = {2: goals.SHARED_ON_2, 4: goals.SHARED_ON_4}


def on_shared_memory(comm: Any, megabytes: int) -> dict[str, list[float]]:
    """Everything that works where the ranks share memory. MB are 10⁶ bytes."""
    import torch
    import torch.distributed as dist

    from helpers.lessons.messages.algorithms import collectives as c

    length = megabytes * 1_000_000 // 4
    tensor, other = torch.empty(length), torch.empty(length)
    buffers = comm.shared((length,))

    def fill() -> None:
        tensor.fill_(comm.rank)
        buffers[comm.rank].fill_(comm.rank)

    contenders = {
        "gloo": lambda: dist.all_reduce(tensor),
        "ring": lambda: c.all_reduce_ring(comm, tensor),
        "halving-doubling": lambda: c.all_reduce_halving_doubling(comm, tensor),
        "shared memory": lambda: c.all_reduce_shared(comm, buffers),
        "copy of memory": lambda: other.copy_(tensor),
    }
    return in_turn(comm, contenders, REPEATS, before=fill)


def on_sockets(comm: Any, megabytes: int) -> dict[str, list[float]]:
    """The ring with gloo's sockets under it, beside gloo."""
    import torch
    import torch.distributed as dist

    from helpers.lessons.messages.algorithms import collectives as c

    tensor = torch.empty(megabytes * 1_000_000 // 4)
    contenders = {
        "gloo": lambda: dist.all_reduce(tensor),
        "ring": lambda: c.all_reduce_ring(comm, tensor),
    }
    return in_turn(comm, contenders, REPEATS, before=lambda: tensor.fill_(comm.rank))


def measure() -> Report:
    """All sizes and numbers of ranks, over shared memory and over sockets."""
    report = Report("collectives", "All-reduce of float32, from all ranks' start to the last's end")
    for ranks in RANKS:
        for megabytes in SIZES_MB:
            case = f"{megabytes} MB, {ranks} ranks"
            times = slowest(helpers.run(on_shared_memory, megabytes, ranks=ranks, show=False))
            for name, seconds in times.items():
                quicker = ratio(times["gloo"], seconds)
                report.add(case, name, seconds, f"{quicker:.2f}× gloo" if name != "gloo" else "")
            if megabytes >= 10:
                value = ratio(times["gloo"], times["ring"])
                report.hold(goals.RING, f"ring against gloo, {case}, shared memory", value)
                value = ratio(times["gloo"], times["shared memory"])
                report.hold(SHARED[ranks], f"shared memory against gloo, {case}", value)
            measure_sockets(report, ranks, megabytes)
    report.notes.append(
        "By default the ring's messages go by shared memory, which gloo's all-reduce does not use; "
        'over sockets it is the same function with transport="sockets", on the same footing as '
        "gloo. The shared-memory all-reduce works in place, on buffers that live there."
    )
    return report


def measure_sockets(report: Report, ranks: int, megabytes: int) -> None:
    """The ring over sockets, in a run of its own with gloo again beside it."""
    case = f"{megabytes} MB, {ranks} ranks, sockets"
    results = helpers.run(on_sockets, megabytes, ranks=ranks, transport="sockets", show=False)
    times = slowest(results)
    for name, seconds in times.items():
        quicker = ratio(times["gloo"], seconds)
        report.add(case, name, seconds, f"{quicker:.2f}× gloo" if name != "gloo" else "")
    if megabytes >= 10:
        value = ratio(times["gloo"], times["ring"])
        report.hold(goals.RING_ON_SOCKETS, f"ring against gloo, {case}", value)
