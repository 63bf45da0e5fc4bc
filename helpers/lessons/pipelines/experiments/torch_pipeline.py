"""torch's own pipelines, `torch.distributed.pipelining`, beside ours: to be called in the same way.

Only on real ranks, where the default process group is up. Tied parameters are not its business:
it leaves a parameter that two stages share to whoever cuts the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

if TYPE_CHECKING:
    from helpers.engine.comm import Comm

SCHEDULES = {
    "GPipe": "ScheduleGPipe",
    "1F1B": "Schedule1F1B",
    "interleaved": "ScheduleInterleaved1F1B",
    "zero bubble": "ScheduleInterleavedZeroBubble",
}
"""What torch calls each schedule."""


class TorchPipeline:
    """A model in stages under torch's `PipelineStage` and one of its schedules.

    stages: all stages in order, of which this rank takes its own, as `Pipeline` does. name: one of
    `SCHEDULES`. loss: (output, targets) to the mean loss of a microbatch. count: microbatches.
    """

    def __init__(
        self,
        comm: Comm,
        stages: Sequence[nn.Module],
        name: str,
        loss: Callable[[Tensor, Tensor], Tensor],
        count: int,
    ) -> None:
        from torch.distributed import pipelining

        self.comm = comm
        self.chunks = nn.ModuleList(stages[comm.rank :: comm.size]).to(comm.device)
        parts = [
            pipelining.PipelineStage(chunk, index * comm.size + comm.rank, len(stages), comm.device)
            for index, chunk in enumerate(self.chunks)
        ]
        make: Any = getattr(pipelining, SCHEDULES[name])
        several = name in ("interleaved", "zero bubble")  # torch's zero bubble is interleaved too
        given = parts if several else parts[0]
        self.schedule = make(given, n_microbatches=count, loss_fn=loss)

    def parameters(self) -> Iterator[nn.Parameter]:
        """This rank's parameters."""
        return self.chunks.parameters()

    def step(self, inputs: Tensor, targets: Tensor) -> float | None:
        """Whole batches in, which torch cuts; the mean loss on the last rank, None elsewhere.

        Microbatches of different size would count alike, so take a number that divides the rows.
        """
        losses: list[Tensor] = []
        given = (inputs.to(self.comm.device),) if self.comm.rank == 0 else ()
        if self.comm.rank == self.comm.size - 1:
            target = targets.to(self.comm.device)
            self.schedule.step(*given, target=target, losses=losses, return_outputs=False)
            return float(sum(loss.detach() for loss in losses) / len(losses))
        self.schedule.step(*given)
        return None
