"""Random states: what the next random number will be, in torch, numpy and Python."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch


def random_states() -> dict[str, Any]:
    """The states of torch's generators, on the CPU and on every GPU, of numpy's and of Python's.

    In tensors, numbers and lists alone, so that a checkpoint takes them.
    """
    version, words, spare = random.getstate()
    kind, keys, place, has_spare, kept = np.random.get_state()
    return {
        "torch": torch.get_rng_state(),
        "gpus": torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
        "numpy": [str(kind), torch.tensor(np.asarray(keys, np.int64)), place, has_spare, kept],
        "python": [version, torch.tensor(words), spare],
    }


def go_on_randomly(states: dict[str, Any]) -> None:
    """Go on where `random_states` was called. GPUs that are not here are left out."""
    torch.set_rng_state(states["torch"])
    for number, state in enumerate(states["gpus"][: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(state, number)
    kind, keys, place, has_spare, kept = states["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), place, has_spare, kept))
    version, words, spare = states["python"]
    random.setstate((version, tuple(words.tolist()), spare))
