"""The global random states of this process: torch's, numpy's and Python's."""

import random
from typing import Any

import numpy as np


def states() -> dict[str, Any]:
    """The states, to be compared."""
    import torch

    _, words, *used = np.random.get_state()
    return {
        "torch": torch.get_rng_state().numpy().tobytes(),
        "numpy": (np.asarray(words).tobytes(), *used),
        "python": random.getstate(),
    }


def seed_all(seed: int) -> None:
    """Set the states."""
    import torch

    torch.default_generator.manual_seed(seed)  # without a look for devices, ten times quicker
    np.random.seed(seed)
    random.seed(seed)
