"""torch's own stage 3, FSDP2's `fully_shard`, on the process group that is up.

Beside `Sharded` of `algorithms.sharding`, on real ranks. FSDP2 divides the summed
gradients by the number of ranks, as ours does with its default weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

Make = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


class TorchSharded:
    """A model under `fully_shard`, called as `Sharded` is.

    Every rank gives a model with the same values: FSDP2 broadcasts nothing. optimizer: makes one
    for the list of parameters. reshard: whether a unit, a child of the model, is freed after
    forward, stage 3; otherwise its parameters stay until backward is done with them, and are
    gathered once a step.
    """

    def __init__(
        self,
        model: nn.Module,
        comm: Any,
        optimizer: Make = torch.optim.Adam,
        *,
        reshard: bool = True,
    ) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh(comm.device.type, (comm.size,))
        for unit in model.children():
            if any(True for _ in unit.parameters()):
                fully_shard(unit, mesh=mesh, reshard_after_forward=reshard)
        # Turns the model itself into one of FSDP2's.
        fully_shard(model, mesh=mesh, reshard_after_forward=reshard)
        self.model = model
        self.optimizer = optimizer([p for p in model.parameters() if p.requires_grad])

    def __call__(self, *inputs: Any) -> Any:
        """Run the model forward."""
        return self.model(*inputs)

    def zero_grad(self) -> None:
        """Forget the gradients of earlier steps."""
        self.optimizer.zero_grad()

    def step(self) -> None:
        """Update this rank's parts; backward has averaged the gradients already."""
        self.optimizer.step()

    def bytes(self) -> dict[str, int]:
        """Bytes of this rank's parts between two steps: parameters, gradients, optimizer state."""
        parameters = list(self.model.parameters())
        gradients = [p.grad for p in parameters if p.grad is not None]
        states = [t for s in self.optimizer.state.values() for t in s.values()]
        optimizer = [t for t in states if isinstance(t, Tensor) and t.dim()]
        return {
            "parameters": _local_bytes(parameters),
            "gradients": _local_bytes(gradients),
            "optimizer": _local_bytes(optimizer),
        }

    def full_state(self) -> dict[str, Tensor]:
        """Every parameter by name, whole, on every rank. All ranks call it."""
        return {
            name: value.full_tensor() if hasattr(value, "full_tensor") else value
            for name, value in self.model.state_dict().items()
        }


def _local_bytes(tensors: Sequence[Tensor]) -> int:
    local = [t.to_local() if hasattr(t, "to_local") else t for t in tensors]
    return sum(t.numel() * t.element_size() for t in local)
