"""The job that every launcher is given: some ranks, one all-reduce of one number.

Run as a script, with a launcher's name and the number of ranks: torchrun and horovodrun start it on
every rank; mp.spawn and notebook_launcher are called in it, and it prints the seconds they take.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist


def on_torch() -> None:
    """One all-reduce of one number."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    assert total.item() == dist.get_world_size()
    dist.destroy_process_group()


def on_horovod() -> None:
    """The same under Horovod."""
    import horovod.torch as hvd

    torch.set_num_threads(1)
    hvd.init()
    total = hvd.allreduce(torch.ones(1), op=hvd.Sum)
    assert total.item() == hvd.size()
    hvd.shutdown()


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def one_of(number: int, ranks: int, port: int) -> None:
    """A rank that mp.spawn has started: the same job as torchrun's."""
    os.environ.update(
        RANK=str(number), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)
    )
    on_torch()


def spawn(ranks: int) -> None:
    """torch.multiprocessing.spawn from a process that has torch."""
    import torch.multiprocessing as mp

    timed(lambda: mp.spawn(one_of, (ranks, free_port()), nprocs=ranks))


def notebook(ranks: int, job: Callable[[], None] = on_torch) -> None:
    """accelerate.notebook_launcher from a process that has torch."""
    from accelerate import notebook_launcher

    port = str(free_port())
    timed(lambda: notebook_launcher(job, num_processes=ranks, use_port=port))


def notebook_after_training(ranks: int) -> None:
    """The same once the process has run a backward on two threads, and so does every rank."""
    torch.set_num_threads(2)
    layer = torch.nn.Linear(2000, 2000)
    layer(torch.ones(2000, 2000)).sum().backward()
    notebook(ranks, trains)


def trains() -> None:
    """An all-reduce and a backward on a rank, as if nothing had been before."""
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(1))
    torch.nn.Linear(500, 500)(torch.ones(500, 500)).sum().backward()


def timed(call: Callable[[], object]) -> None:
    """Print the seconds that a call takes."""
    start = time.perf_counter()
    call()
    print(f"seconds {time.perf_counter() - start}")


if __name__ == "__main__":
    LAUNCHERS: dict[str, Callable[[int], None]] = {
        "torchrun": lambda ranks: on_torch(),
        "horovodrun": lambda ranks: on_horovod(),
        "mp.spawn": spawn,
        "notebook": notebook,
        "after-training": notebook_after_training,
    }
    LAUNCHERS[sys.argv[1]](int(sys.argv[2]))
