"""Train with torch's DistributedDataParallel, from a shell in the course's folder:

OMP_NUM_THREADS=1 torchrun --standalone --local-addr 127.0.0.1 --nproc-per-node 2 \
    cluster/local/train_torch.py
"""

from __future__ import annotations

import gc

import torch
import torch.distributed as dist

from helpers.lessons.frameworks.experiments import in_torch, script, setting


def main() -> None:
    """Be one rank; torchrun has put its number and a place to meet into the environment."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    part = in_torch.ddp(setting.task(script.options().steps))
    loss = torch.tensor(part.losses[-1])
    dist.all_reduce(loss)
    if dist.get_rank() == 0:
        script.tell(dist.get_world_size(), part, loss.item() / dist.get_world_size())
    # The replica's reference cycles hold the process group. While they do, destroying it does not
    # end gloo's threads, and one that lets go of a tensor as Python ends aborts the rank.
    gc.collect()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
