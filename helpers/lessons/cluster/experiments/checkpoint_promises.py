"""What `dcp.async_save` writes where values change after the call: the old ones, or the new.

A tensor of ones is saved; as soon as the call has come back it is filled with twos; only then may
anything be written. What is found in the checkpoint says what the call promises. That CPU tensors
were once not copied is https://github.com/pytorch/pytorch/issues/144657, mended by its pull request
145408; on torch 2.13 the default copies.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

from helpers.engine.comm import Comm
from helpers.lessons.cluster.experiments.checkpoint_torch import stager

AT_THE_CALL, LATER = 1.0, 2.0
CASES: dict[str, dict[str, bool] | None] = {  # with the options of a stager of one's own
    "by itself": None,
    "a stager": {},
    "a stager with shared memory": {"shared": True},
    "staged in a thread": {"in_a_thread": True},
    "staged in a thread, waited for": {"in_a_thread": True},
    "the writer stages": None,
    "one stager for two saves": {},
}
WAIT_SECONDS = 60.0


class Saved(NamedTuple):
    """What was found in a checkpoint. value: 1.0, as at the call, or 2.0, as it was later."""

    case: str
    value: float

    @property
    def as_at_the_call(self) -> bool:
        """Whether training may go on at once."""
        return self.value == AT_THE_CALL


class Blocks:
    """Stands in a state before the tensor: who copies it has to wait until the gate opens."""

    def __init__(self, gate: threading.Event) -> None:
        self.gate = gate

    def __deepcopy__(self, memo: Any) -> int:
        self.gate.wait(WAIT_SECONDS)
        return 0


class Waits(dcp.DefaultSavePlanner):
    """A planner that writes nothing before the gate is open."""

    def __init__(self, gate: threading.Event) -> None:
        super().__init__()
        self.gate = gate

    def set_up_planner(self, *args: Any, **options: Any) -> None:
        """Waits."""
        self.gate.wait(WAIT_SECONDS)
        super().set_up_planner(*args, **options)


def promises(comm: Comm, path: str | Path) -> list[Saved]:
    """Try all cases, on real ranks; all call it. path: of a folder for the checkpoints.

    Each rank has a tensor of its own, and finds it again. Example:
    `helpers.run(promises, "checkpoints", ranks=2)[0]`.
    """
    return [Saved(case, _saved(comm, Path(path), case)) for case in CASES]


def _saved(comm: Comm, path: Path, case: str) -> float:
    group, gate, told = dist.new_group(backend="gloo"), threading.Event(), CASES[case]
    folder, name = path / case.replace(" ", "-"), f"of rank {comm.rank}"
    tensor, ours = torch.full((3,), AT_THE_CALL), None if told is None else stager(**told)
    options: dict[str, Any] = {"checkpoint_id": folder, "planner": Waits(gate)}
    state: dict[str, Any] = {name: tensor}
    if case == "the writer stages":
        options["storage_writer"] = dcp.FileSystemWriter(folder)
    if "in a thread" in case:
        state = {"first": Blocks(gate), **state}
        del options["planner"]
    under_way: Any = dcp.async_save(state, async_stager=ours, process_group=group, **options)
    if case.endswith("waited for"):
        gate.set()
        under_way.staging_completion.result(WAIT_SECONDS)
    tensor.fill_(LATER)
    if case == "one stager for two saves":
        another = dist.new_group(backend="gloo")
        second: Any = dcp.async_save(
            state, checkpoint_id=path / "second", async_stager=ours, process_group=another
        )
        second.result(WAIT_SECONDS)
    gate.set()
    getattr(under_way, "upload_completion", under_way).result(WAIT_SECONDS)
    if ours is not None:
        ours.close()
    found = torch.zeros(3)
    dcp.load({name: found}, checkpoint_id=folder, process_group=group)
    return float(found[0])
