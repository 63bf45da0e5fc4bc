r"""Train on, whichever node is lost: a script for torchrun.

All nodes see the course's folder. On a machine that stays:

    python cluster/rendezvous.py --host HOST --port 29400

On each node, and again on a node that comes back, with its own address after --local-addr:

    TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 torchrun --nnodes=1:2 --nproc-per-node=1 \
        --max-restarts=20 --rdzv-backend=c10d --rdzv-endpoint=HOST:29400 --rdzv-id=digits \
        --rdzv-conf=is_host=0,last_call_timeout=2,keep_alive_interval=1,keep_alive_max_attempt=10 \
        --local-addr=ADDRESS cluster/elastic_torch.py --folder RUN --steps 300

What the options are for:

- --nnodes=1:2      one node is enough to go on, two is what there should be.
- --max-restarts    each agent counts the failures of its own workers, those too that came of
                    another node's death, and gives up at this number. The default is 0. A bug
                    is tried as often.
                    (pytorch/pytorch issues 108158 and 147064)
- is_host=0         no agent keeps the store; rendezvous.py does. (issue 150916)
- keep_alive_...    a node that is silent for 1 s x 10 is out. Nothing happens at that moment: those
                    that are left start again when their own workers fail, here because a collective
                    does. (issue 111646) Rather too long than too short: a node that was only slow
                    is not told that it is out. It trains on beside those that go on without it,
                    and both write the same checkpoint.
- last_call_timeout how long to wait for more nodes once there are enough (30 s otherwise).
- TORCH_DISABLE_... a new store for each round. Agents that share one keep the address of a node
                    that is gone. (issues 135712 and 182221)
"""

from __future__ import annotations

import argparse
import os
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from helpers.lessons.cluster.experiments.elastic_training import PARTS, Training, last_step, note


def main() -> None:
    """Go on from the last checkpoint until the last step."""
    given = arguments()
    dist.init_process_group("gloo", timeout=timedelta(seconds=given.timeout))
    rank, size = dist.get_rank(), dist.get_world_size()
    training, checkpoint = Training(given.seed), given.folder / "checkpoint.pt"
    if checkpoint.exists():
        training.go_on(torch.load(checkpoint))
    notes = given.folder / "steps.jsonl"
    if rank == 0:
        note(notes, training.step, training.loss(), size)  # where it begins
    while training.step < last_step(given.steps):
        table = training.gradients(rank, size)
        dist.all_reduce(table)  # raises where a rank is gone, and torchrun starts all again
        training.update(table)
        if rank == 0:
            note(notes, training.step, training.loss(), size)
            if training.step % given.every == 0:
                save(checkpoint, training.state())
        time.sleep(given.pace * len(range(rank, PARTS, size)))
    dist.destroy_process_group()


def save(path: Path, state: dict[str, object]) -> None:
    """Replace the checkpoint in one move: a kill at any byte leaves the old one, or the new one."""
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())  # or the name may come to the disk before the bytes
    new.replace(path)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Train a small network through node failures.")
    parser.add_argument("--folder", type=Path, required=True, help="for checkpoints and notes")
    parser.add_argument("--steps", default="300", help="or a file that will hold the number (300)")
    parser.add_argument("--every", type=int, default=10, help="steps to a checkpoint (10)")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds of rest for a part (0)")
    parser.add_argument("--timeout", type=float, default=60.0, help="of a collective, s (60)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and batches (0)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
