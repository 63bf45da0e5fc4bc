r"""Train on, whichever host is lost: a script for horovodrun.

In the course's folder, with the hosts in hosts.txt, such as "node-1:1" and "node-2:1" a line:

    horovodrun -np 2 --min-np 1 --max-np 2 --blacklist-cooldown-range 3 4 \
        --host-discovery-script 'sh cluster/discover_hosts.sh' --network-interface lo \
        --gloo-timeout-seconds 300 python cluster/elastic_horovod.py --folder RUN --steps 300

The state is in the ranks' memory: whoever is left goes back to its last commit and gives it to
those who come. So nothing is read from a disk, and no process that lives is started again; but when
the last host with the state is lost, so is the job, unless you save checkpoints besides.

- --min-np, --max-np            one rank is enough to go on, two is what there should be.
- --blacklist-cooldown-range    seconds until a host on which a rank died may come back, the lowest
                                and the highest. Without it, never. (horovod/horovod pull 3319)
                                Let it be longer than the script for hosts may take. A host that is
                                back before Horovod has settled that it was gone gets no new rank,
                                and the others wait for one until they give up.
- --gloo-timeout-seconds        how long ranks wait for one that starts; after 30 s, if nothing is
                                said, they abort, and the job with them.
- --network-interface           the one that leads to the other hosts; here all are this machine.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import horovod.torch as hvd

from helpers.lessons.cluster.experiments.elastic_training import PARTS, Training, last_step, note


def main() -> None:
    """Join the job, wherever it stands, and train until the last step."""
    given = arguments()
    hvd.init()
    training = Training(given.seed)
    # What a commit keeps is not copied, so it must never change: `Training.state` sees to that.
    train(hvd.elastic.TorchState(training=training.state()), training, given)


@hvd.elastic.run
def train(state: Any, training: Training, given: argparse.Namespace) -> None:
    """Train from what the state holds. Horovod calls it again whenever the ranks have changed."""
    training.go_on(state.training)
    rank, size, notes = hvd.rank(), hvd.size(), given.folder / "steps.jsonl"
    if rank == 0:
        note(notes, training.step, training.loss(), size)  # where it begins
    while training.step < last_step(given.steps):
        table = training.gradients(rank, size)
        training.update(hvd.allreduce(table, op=hvd.Sum, name="gradients"))
        if rank == 0:
            note(notes, training.step, training.loss(), size)
        if training.step % given.every == 0:
            state.training = training.state()
            state.commit()  # here the ranks also hear of hosts that have come
        time.sleep(given.pace * len(range(rank, PARTS, size)))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Train a small network through host failures.")
    parser.add_argument("--folder", type=Path, required=True, help="for notes of the steps")
    parser.add_argument("--steps", default="300", help="or a file that will hold the number (300)")
    parser.add_argument("--every", type=int, default=10, help="steps to a commit (10)")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds of rest for a part (0)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and batches (0)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
