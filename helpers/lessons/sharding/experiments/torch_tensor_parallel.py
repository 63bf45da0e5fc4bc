"""The course's Transformer under torch's own tensor parallelism: DTensor and a plan of styles.

`parallelize_module` puts a `DTensor` in the place of every weight that the plan names: a tensor
that knows that it is cut over a mesh, and how. Products of DTensors then send what they need.
It wants heads, hidden units and tokens that the number of ranks divides.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from helpers.lessons.splitting.experiments.transformer import token_loss


def parallelize(model: nn.Sequential, mesh: Any) -> nn.Sequential:
    """Cut a `workloads.transformer` over a one-dimensional DeviceMesh, in place; returns it.

    Every rank's weights become parts of rank 0's. The scores that come out are a DTensor cut by
    tokens, for `step`. Weights that were tied are tied again.
    Raises ValueError where the number of ranks does not divide the heads.
    """
    from torch.distributed.tensor.parallel import parallelize_module

    layers: list[Any] = list(model)
    first, *blocks, last = layers
    tied = last.scores.weight is first.tokens.weight
    for block in blocks:
        if block.attention.heads % mesh.size():
            raise ValueError(
                f"{mesh.size()} ranks do not share {block.attention.heads} heads evenly, which "
                "DTensor's view of them needs."
            )
        block.attention.heads //= mesh.size()  # what is viewed as heads is this rank's part
    _start_from_rank_0(model)
    parallelize_module(model, mesh, plan(len(blocks)))
    if tied:
        last.scores.weight = first.tokens.weight
    return model


def parallelize_and_shard(model: nn.Sequential, mesh: Any) -> nn.Sequential:
    """The same on a DeviceMesh with two dimensions, "data" and "tensor": FSDP2 over DTensors.

    Every layer is cut along "tensor" by `parallelize`, and its parts are sharded along "data",
    whose ranks have batches of their own, of one size: their gradients are averaged.
    """
    from torch.distributed.fsdp import fully_shard

    parallelize(model, mesh["tensor"])
    for layer in model:
        fully_shard(layer, mesh=mesh["data"])
    fully_shard(model, mesh=mesh["data"])
    return model


def plan(blocks: int) -> dict[str, Any]:
    """Which layer is cut how: by its name in the model."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        PrepareModuleInput,
        RowwiseParallel,
    )

    styles: dict[str, Any] = {
        "0.tokens": RowwiseParallel(input_layouts=Replicate()),
        f"{blocks + 1}.scores": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False),
    }
    for number in range(1, blocks + 1):
        # One DTensor for query, key and value: their gradients are summed before the all-reduce.
        styles[f"{number}.attention"] = PrepareModuleInput(
            input_layouts=(Replicate(),), desired_input_layouts=(Replicate(),)
        )
        for layer in ("attention.query", "attention.key", "attention.value", "mlp.up"):
            styles[f"{number}.{layer}"] = ColwiseParallel()
        for layer in ("attention.out", "mlp.down"):
            styles[f"{number}.{layer}"] = RowwiseParallel()
    return styles


def _start_from_rank_0(model: nn.Module) -> None:
    """Give every rank rank 0's weights: what the plan does not name stays as it is on each."""
    import torch.distributed as dist

    for parameter in model.parameters():
        dist.broadcast(parameter.data, src=0)


def step(
    model: nn.Sequential, optimizer: torch.optim.Optimizer, tokens: Tensor, targets: Tensor
) -> Tensor:
    """One training step of a parallelized model; returns the loss, the same on every rank."""
    from torch.distributed.tensor.parallel import loss_parallel

    optimizer.zero_grad()
    with loss_parallel():
        value = token_loss(model(tokens), targets)
        value.backward()
    optimizer.step()
    return value.full_tensor().detach()  # type: ignore[attr-defined]


def whole(parameter: Tensor) -> Tensor:
    """A parameter, or its gradient, put together again on every rank."""
    full = parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter
    return full.detach()
