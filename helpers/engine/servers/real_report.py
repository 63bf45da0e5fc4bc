"""What is said of a training on real processes: who waits for whom, who died, what was lost."""

from __future__ import annotations

import asyncio
import os
import traceback
from collections.abc import Iterable, Mapping

from helpers.engine import report
from helpers.engine.errors import Deadlock, RunError
from helpers.engine.plan import Failure
from helpers.engine.servers import parameter_server
from helpers.engine.servers.job import Plan, Table

_ENGINE = (os.path.dirname(os.path.abspath(__file__)), os.path.dirname(asyncio.__file__))
_CORE = parameter_server.__file__


class TrainingFailed(RunError):
    """A server or a worker raised an exception, or none is left.

    who: "worker 2". kind: the exception's class name; message: its text.
    """

    def __init__(self, report: str, who: str = "", kind: str = "", message: str = "") -> None:
        super().__init__(report)
        self.who, self.kind, self.message = who, kind, message


def failed(name: str, failure: Failure) -> TrainingFailed:
    """A process of the training, or what prepares it, raised an exception."""
    text = f"{failure.kind}: {failure.message}" if failure.message else failure.kind
    told = f"{name[0].upper()}{name[1:]} raised {text}"
    lines = "".join(own(failure.frames).format())
    if lines:
        told += f"\nTraceback of {name} (most recent call last):\n{lines}{text}"
    told += "".join(map(report.behind, failure.origins))
    return TrainingFailed(told, name, failure.kind, failure.message)


def own(frames: traceback.StackSummary) -> traceback.StackSummary:
    """Frames without those of the engine, and of what it runs, where others are left."""
    kept = [frame for frame in frames if os.path.dirname(frame.filename) not in _ENGINE]
    kept = [frame for frame in kept if frame.filename != _CORE] or kept
    return report.clean(traceback.StackSummary.from_list(kept))


def count(number: int, noun: str) -> str:
    """ "1 update", "2 updates"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def names(kind: str, numbers: Iterable[int]) -> str:
    """ "worker 2", "workers 0, 1 and 3"."""
    listed = [str(number) for number in numbers]
    if len(listed) == 1:
        return f"{kind} {listed[0]}"
    return f"{kind}s {', '.join(listed[:-1])} and {listed[-1]}"


def restart(server: int, how: str, at: int, saved: int) -> str:
    """A server died and a new one took its place."""
    lost = at - saved
    start = f"its snapshot at update {saved}" if saved else "the start"
    if not lost:
        return f"server {server} {how} after update {at} and went on from there: no update was lost"
    was = "was" if lost == 1 else "were"
    return (
        f"server {server} {how} after update {at} and went on from {start}: "
        f"{count(lost, 'update')} {was} lost"
    )


def in_vain(server: int, times: int, last: str) -> TrainingFailed:
    """A server dies again and again."""
    return TrainingFailed(
        f"Server {server} has died {times} times and makes no more updates in between, so it is "
        f"not started again. The last time: {last}."
    )


def all_dead(plan: Plan, table: Table, died: Mapping[int, str]) -> TrainingFailed:
    """Nobody is left who computes."""
    made = int(table.version.min())
    wanted = f" of {plan.updates}" if plan.updates else ""
    stories = "\n".join(died[worker].removesuffix("; the others went on") for worker in died)
    return TrainingFailed(
        f"All {count(plan.workers, 'worker')} have died after {made}{wanted} updates; nobody "
        f"is left to compute gradients.\n{stories}"
    )


def stuck(plan: Plan, table: Table) -> Deadlock:
    """All wait for each other."""
    told = "\n".join(progress(plan, table))
    return Deadlock(
        "Nobody can go on: every worker waits for an answer, and the servers have taken up all "
        f"that they may. A rule has to release somebody in the end.\n{told}",
        waiting_workers(plan, table),
    )


def late(
    plan: Plan, table: Table, stacks: Mapping[str, tuple[int, int]]
) -> tuple[str, dict[str, traceback.StackSummary]]:
    """The time is up. Returns: who waits for whom, and what code each busy process is in."""
    text = (
        f"After {plan.timeout:g} s the training had not ended; a longer one needs "
        f"timeout=seconds.\n" + "\n".join(progress(plan, table))
    )
    waits = waiting_workers(plan, table)
    busy = [f"worker {w}" for w in range(plan.workers) if w not in waits and not table.gone[w]]
    busy += [f"server {s}" for s in table.busy.nonzero()[0].tolist()]
    return text, report.where({name: stacks[name] for name in busy if name in stacks})


def progress(plan: Plan, table: Table) -> list[str]:
    """What each server has made and for whom it waits, a line each."""
    lines = []
    for s in range(plan.servers):
        made = f"server {s} has made {count(int(table.version[s]), 'update')}"
        if plan.updates and plan.order is None:
            made += f" of {plan.updates}"
        if table.complete[s]:
            lines.append(f"{made}; it is done")
            continue
        lines.append(f"{made}; {server_waits(plan, table, s)}")
    for worker, words in waiting_workers(plan, table).items():
        lines.append(f"worker {worker} {words}")
    return lines


def server_waits(plan: Plan, table: Table, s: int) -> str:
    """What a server waits for: "it waits for a gradient of worker 2"."""
    if table.busy[s]:
        return "it is at work"
    out = [w for w in range(plan.workers) if not table.gone[w]]
    silent = [w for w in out if table.asked[s, w] == table.answered[s, w]]
    held = [w for w in out if table.asked[s, w] > table.taken[s, w]]
    if plan.order is not None and held:
        return f"{names('worker', held)} came, but the next in its order is another"
    if silent:
        return f"it waits for gradients of {names('worker', silent)}"
    return "it waits, and every worker waits for an answer"


def waiting_workers(plan: Plan, table: Table) -> dict[int, str]:
    """For each worker that waits, in words, for whom."""
    found = {}
    for w, column in enumerate(table.waiting().T):
        servers = [s for s, waits in enumerate(column.tolist()) if waits]
        if servers and not table.gone[w]:
            found[w] = f"waits for {names('server', servers)} to answer"
    return found
