"""Train with Horovod and torch, from a shell in the course's folder:

horovodrun -np 2 python cluster/local/train_horovod.py
"""

from __future__ import annotations

import horovod.torch as hvd
import torch

from helpers.algorithms.framework_steps import average_metric
from helpers.frameworks import horovod_torch, script, setting


def main() -> None:
    """Be one rank; horovodrun has put its number and a place to meet into the environment."""
    torch.set_num_threads(1)
    hvd.init()
    part = horovod_torch.train_rank(setting.task(script.steps()))
    loss = average_metric(hvd, part.losses[-1], setting.BATCH // hvd.size())
    if hvd.rank() == 0:
        script.tell(hvd.size(), part, loss)
    hvd.shutdown()


if __name__ == "__main__":
    main()
