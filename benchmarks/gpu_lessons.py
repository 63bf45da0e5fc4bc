"""The lessons' GPU cells, measured: ranks that share a GPU, and mixed precision.

NCCL wants a GPU for each rank; ranks that share one talk by way of the host's memory, as a learner
with a single GPU does. Everything here runs on a CPU too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import torch

from benchmarks import gpu_memory, gpu_shared
from benchmarks.gpu_memory import SIZE, Size
from benchmarks.on_device import finish
from benchmarks.report import Report, ratio, slowest
from helpers.notebook.measure import in_turn

RANKS = 2
LENGTHS = (1000, 1_000_000, 10_000_000)  # float32 numbers of a message, 4 KB to 40 MB
REPEATS = 15
GLOO = "gloo"
DDP = "torch DDP"


# --- messages and sums ----------------------------------------------------------------------------


def messages(comm: Any, lengths: tuple[int, ...], repeats: int) -> dict[str, list[float]]:
    """Seconds of a message from rank 0 to rank 1 and back."""
    tensors = {length: torch.ones(length, device=comm.device) for length in lengths}

    def there_and_back(tensor: torch.Tensor) -> None:
        if comm.rank == 0:
            comm.send(tensor, 1)
            comm.recv(1, into=tensor)
        elif comm.rank == 1:
            comm.recv(0, into=tensor)
            comm.send(tensor, 0)
        finish(comm.device)

    contenders = {str(n): partial(there_and_back, tensor) for n, tensor in tensors.items()}
    return in_turn(comm, contenders, repeats)


def sums(comm: Any, length: int, repeats: int) -> dict[str, list[float]]:
    """Seconds of an all-reduce: the lessons' ring, the one in shared memory, and gloo's.

    Buffers that all ranks see lie in the host's memory, so a GPU's numbers are copied there and
    back, which counts.
    """
    import torch.distributed as dist

    from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, all_reduce_shared

    tensor = torch.empty(length, device=comm.device)
    buffers = comm.shared((length,))
    by_gloo = dist.new_group(backend="gloo")  # also where each rank has a GPU of its own

    def fill() -> None:
        tensor.fill_(1.0)
        finish(comm.device)

    def by_the_host() -> None:
        buffers[comm.rank].copy_(tensor)
        tensor.copy_(all_reduce_shared(comm, buffers))

    def timed(reduce: Callable[[], Any]) -> None:
        reduce()
        finish(comm.device)

    ways: dict[str, Callable[[], Any]] = {
        "ours, ring": lambda: all_reduce_ring(comm, tensor),
        "ours, shared memory": by_the_host,
        GLOO: lambda: dist.all_reduce(tensor, group=by_gloo),
    }
    for name, reduce in ways.items():
        fill()
        comm.barrier()
        timed(reduce)
        if not bool((tensor == comm.size).all()):
            raise RuntimeError(f"{name} has not summed {length} numbers of {comm.size} ranks.")
    contenders = {name: partial(timed, reduce) for name, reduce in ways.items()}
    return in_turn(comm, contenders, repeats, before=fill)


# --- a training step ------------------------------------------------------------------------------


def training(
    comm: Any, size: Size, repeats: int, ddp: bool = True
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Seconds of a data-parallel step in fp32 and under bf16 autocast, ours and DDP's; losses."""
    from helpers.lessons.data_parallel.algorithms.data_parallel import DataParallel
    from helpers.lessons.splitting.experiments.transformer import token_loss

    tokens, targets = size.batch(comm.device, seed=comm.rank)
    losses: dict[str, list[float]] = {}

    def step(name: str, replica: Any, optimizer: Any, end: Callable[[], object]) -> None:
        half = name.endswith("bf16")
        optimizer.zero_grad()
        with torch.autocast(comm.device.type, torch.bfloat16, enabled=half):
            scores = replica(tokens)
        loss = token_loss(scores.float(), targets)
        loss.backward()
        end()
        optimizer.step()
        finish(comm.device)
        losses.setdefault(name, []).append(loss.item())

    contenders: dict[str, Callable[[], None]] = {}
    for precision in ("fp32", "bf16"):
        model = size.model(comm.device)
        ours, adam = DataParallel(model, comm), torch.optim.Adam(model.parameters(), 1e-3)
        name = f"ours, {precision}"
        contenders[name] = partial(step, name, ours, adam, ours.finish)
        if not ddp:
            continue
        model = size.model(comm.device)
        theirs = torch.nn.parallel.DistributedDataParallel(model)
        adam = torch.optim.Adam(model.parameters(), 1e-3)
        name = f"{DDP}, {precision}"
        contenders[name] = partial(step, name, theirs, adam, lambda: None)
    return in_turn(comm, contenders, repeats), losses


def add_shared(report: Report, ranks: list[dict[int, Any]] | None, words: str) -> None:
    """Messages and sums by CUDA's shared memory, beside those that pass the host."""
    for length in ranks[0] if ranks else ():
        times = slowest([found[length] for found in ranks or []])
        rate = 4 * length / median(times["read"]) / 1e9
        message = f"{4 * length / 1e6:g} MB, by CUDA's shared memory"
        report.add("a message", message, times["read"], f"{rate:.3g} GB/s")
        case = f"all-reduce of {4 * length / 1e6:g} MB, {words}"
        gain = report.median(case, GLOO) / median(times["sum"]) if has(report, case) else None
        note = f"{1 / gain:.3f}× gloo" if gain else ""
        report.add(case, "ours, CUDA's shared memory", times["sum"], note)


def has(report: Report, case: str) -> bool:
    """Whether gloo's sum was measured."""
    return any((row.case, row.name) == (case, GLOO) for row in report.rows)


# --- all of it ------------------------------------------------------------------------------------


def add_to(
    report: Report,
    size: Size = SIZE,
    lengths: tuple[int, ...] = LENGTHS,
    repeats: int = REPEATS,
    ranks: int = RANKS,
    **options: Any,
) -> None:
    """Run every cell on its ranks and put what came out into a report. options: of helpers.run."""
    import helpers
    from helpers.engine.errors import RunError

    def run(cell: Callable[..., Any], *arguments: Any) -> Any:
        """What a cell gives on its ranks; None where they fail, which a note says."""
        try:
            return helpers.run(cell, *arguments, ranks=ranks, timeout=300, show=False, **options)
        except RunError as problem:
            words = " ".join(str(problem).split())[:300]
            report.notes.append(f"{cell.__name__}{arguments[1:]} failed: {words}")
            return None

    shared = f"{ranks} ranks"
    if torch.cuda.device_count() >= ranks:
        report.notes.append("Each rank has a GPU of its own: torch DDP talks by NCCL.")
    if (found := run(messages, lengths, repeats)) is not None:
        for length, seconds in zip(lengths, slowest(found).values(), strict=True):
            there = [each / 2 for each in seconds]
            rate = 4 * length / median(there) / 1e9
            report.add("a message", f"{4 * length / 1e6:g} MB", there, f"{rate:.3g} GB/s")
    for length in lengths:
        if (found := run(sums, length, repeats)) is not None:
            case, times = f"all-reduce of {4 * length / 1e6:g} MB, {shared}", slowest(found)
            for name, seconds in times.items():
                value = ratio(seconds, times[GLOO])
                report.add(case, name, seconds, f"{value:.2f}× gloo" if name != GLOO else "")
    if torch.cuda.is_available() and torch.cuda.device_count() < ranks:
        add_shared(report, run(gpu_shared.cuda_sums, lengths, repeats), shared)
    found = run(training, size, repeats) or run(training, size, repeats, False)
    if found is not None:
        times, losses = slowest([seconds for seconds, _ in found]), found[0][1]
        for name, seconds in times.items():
            value = ratio(times["ours, fp32"], seconds)
            note = f"{value:.2f}× as quick as ours, fp32; loss {losses[name][-1]:.3f}"
            report.add(f"a training step, {shared}", name, seconds, note)
    gpu_memory.add_to(report, run, size)
