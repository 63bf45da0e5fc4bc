"""Train with Horovod and torch, from a shell in the course's folder:

horovodrun -np 2 python cluster/local/train_horovod.py

With `--mine FILE` it takes the function `prepare` of exercise 04.1 from a file of yours.
"""

from __future__ import annotations

import horovod.torch as hvd
import torch

from helpers.lessons.frameworks.experiments import in_torch, script, setting


def main() -> None:
    """Be one rank; horovodrun has put its number and a place to meet into the environment."""
    torch.set_num_threads(1)
    hvd.init()
    options = script.options("prepare")
    mine = {"prepare": script.function_in(options.mine, "prepare")} if options.mine else {}
    part = in_torch.horovod(setting.task(options.steps), **mine)
    loss = hvd.allreduce(torch.tensor(part.losses[-1]))
    if hvd.rank() == 0:
        script.tell(hvd.size(), part, loss.item())
    hvd.shutdown()


if __name__ == "__main__":
    main()
