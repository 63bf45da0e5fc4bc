"""A sharded model and its optimizer, as what a rank saves; and back, on any number of ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from helpers.lessons.messages.algorithms.collectives import all_gather_ring
from helpers.lessons.sharding.algorithms.sharding import Sharded

if TYPE_CHECKING:
    from helpers.lessons.sharding.algorithms.sharded_unit import Unit

PARAMETER = "parameter"


def rows_of(model: Sharded) -> dict[str, Unit]:
    """The model's rows by name, the same on every number of ranks."""
    units = [*([model.root] if model.root else []), *model.units]
    return {f"row {number}": unit for number, unit in enumerate(units)}


def state_of(model: Sharded) -> dict[str, Any]:
    """This rank's part of the model and of its optimizer, between two steps.

    {"rows": {name: {"length": …, "values": {key: slice}, "numbers": {key: number}}}, "common":
    {"groups": …, "buffers": …}}. A row has the parameters' slice, in the optimizer's type, and the
    slices of the optimizer's state; numbers are what it keeps once a row, such as Adam's step.
    Buffers are those of rank 0. Nothing is copied.
    """
    rows = {}
    for name, unit in rows_of(model).items():
        values, numbers = {PARAMETER: unit.master.detach()}, {}
        for key, value in model.optimizer.state.get(unit.master, {}).items():
            if isinstance(value, Tensor) and value.dim():
                values[key] = value
            elif value is not None:
                numbers[key] = value
        rows[name] = {"length": unit.length, "values": values, "numbers": numbers}
    groups = [
        {key: value for key, value in group.items() if key != "params"}
        for group in model.optimizer.param_groups
    ]
    buffers = dict(model.model.named_buffers())
    return {"rows": rows, "common": {"groups": groups, "buffers": buffers}}


def load_state(model: Sharded, state: dict[str, Any]) -> None:
    """Give a model what `state_of` took, cut for this rank by `resharding.resharded`.

    All ranks call it. Raises ValueError where the rows are those of another model, with nothing
    changed.
    """
    rows = rows_of(model)
    found = {name: row["length"] for name, row in state["rows"].items()}
    wanted = {name: unit.length for name, unit in rows.items()}
    if found != wanted:
        raise ValueError(
            f"The checkpoint has rows of {list(found.values())} elements, and this model has rows "
            f"of {list(wanted.values())}: it is one of another model, or in other units."
        )
    for name, unit in rows.items():
        _load_row(model, unit, state["rows"][name])
    for group, saved in zip(model.optimizer.param_groups, state["common"]["groups"], strict=True):
        group.update(saved)
    for name, buffer in model.model.named_buffers():
        buffer.copy_(state["common"]["buffers"][name])


def _load_row(model: Sharded, unit: Unit, row: dict[str, Any]) -> None:
    kept = {**row["values"], **row["numbers"]}
    own = kept.pop(PARAMETER)
    unit.master.detach().copy_(own)
    model.optimizer.state[unit.master] = {
        key: value.clone() if isinstance(value, Tensor) else value for key, value in kept.items()
    }
    unit.slice.copy_(own)
    if unit.whole:
        with torch.no_grad():
            all_gather_ring(model.comm, unit.full)
