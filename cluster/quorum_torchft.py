r"""Train on without a stop, whichever replica is lost: a replica of torchft's, by local steps.

Where nothing is killed:

    torchft_lighthouse --bind HOST:29510 --min_replicas 1 --quorum_tick_ms 50 \
        --join_timeout_ms 1000 --heartbeat_timeout_ms 2000

For each replica, and again for one that was lost, with its own number:

    RUST_LOG=warn python cluster/quorum_torchft.py --lighthouse http://HOST:29510 --replica 0 \
        --folder RUN --syncs 60

Each replica takes steps of its own and averages its weights with the others' every so often (local
SGD). Before each average they ask the lighthouse who is there: the quorum. A replica that died is
not in it, and the others go on without a new start, a checkpoint or a rendezvous. One that is new
takes weights and optimizer from a living one before its first average.

- --min_replicas          fewer than these do not go on. One alone is enough here.
- --heartbeat_timeout_ms  a replica that is silent for so long is dead; until then the others wait
                          for it, at most --join_timeout_ms. This is what a death costs them.
- RUST_LOG=warn           torchft's core otherwise writes a line for every quorum.
"""

from __future__ import annotations

import argparse
from datetime import timedelta
from pathlib import Path
from time import sleep

import torch
from torch.distributed import TCPStore
from torch.nn.functional import cross_entropy
from torchft import Manager, ProcessGroupGloo
from torchft.local_sgd import LocalSGD

from helpers.lessons.cluster.experiments.elastic_training import last_step, note
from helpers.lessons.data_parallel.experiments.digits import CLASSES, PIXELS, digits
from helpers.lessons.data_parallel.experiments.models import mlp

BATCH, HIDDEN, RATE, MOMENTUM = 32, 32, 0.05, 0.9


def main() -> None:
    """Train until the last average."""
    given = arguments()
    torch.set_num_threads(1)
    data = digits(torch.float64)
    model = mlp((PIXELS, HIDDEN, CLASSES), torch.float64)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)

    def state() -> dict[str, object]:
        return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}

    def take(state: dict[str, dict[str, object]]) -> None:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])

    limit = timedelta(seconds=given.timeout)
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    manager = Manager(
        ProcessGroupGloo(timeout=limit),
        take,
        state,
        min_replica_size=1,
        use_async_quorum=False,  # a new replica then has the others' weights before it averages
        timeout=limit,
        replica_id=f"replica_{given.replica}",
        lighthouse_addr=given.lighthouse,
        rank=0,  # of the processes of this replica, which is one
        world_size=1,
        store_addr="127.0.0.1",
        store_port=store.port,
        hostname="127.0.0.1",
    )
    step, random = 0, torch.Generator().manual_seed(given.replica)
    notes = given.folder / f"replica-{given.replica}.jsonl"
    with LocalSGD(manager, model, optimizer, sync_every=given.every):
        while manager.current_step() < last_step(given.syncs):
            rows = torch.randint(len(data.train_x), (BATCH,), generator=random)
            loss = cross_entropy(model(data.train_x[rows]), data.train_y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()  # every so many steps this averages as well
            step += 1
            there = manager.num_participants() if manager.current_step() else 1
            note(notes, step, loss.item(), there)
            sleep(given.pace)
    torch.save(model.state_dict(), given.folder / f"replica-{given.replica}.pt")
    manager.shutdown(wait=False)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Train one of several replicas by local steps.")
    parser.add_argument("--lighthouse", required=True, help="its address, http://HOST:PORT")
    parser.add_argument("--replica", type=int, required=True, help="this one's number, from 0")
    parser.add_argument("--folder", type=Path, required=True, help="for notes and final weights")
    parser.add_argument("--syncs", default="60", help="or a file that will hold the number (60)")
    parser.add_argument("--every", type=int, default=5, help="steps to an average (5)")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds of rest a step (0)")
    parser.add_argument("--timeout", type=float, default=10.0, help="of an average, seconds (10)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
