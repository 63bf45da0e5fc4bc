"""accelerate.notebook_launcher from a process that has torch: prints the seconds it takes.

With "after-training" the process first runs a backward on two threads, as a notebook that has
trained something has done, and so does every rank.
"""

import sys
import time

import torch
import torch.distributed as dist
from accelerate import notebook_launcher

from benchmarks.jobs.torch_job import free_port, main


def train_here(threads: int) -> None:
    """A forward and a backward, large enough for all threads."""
    torch.set_num_threads(threads)
    layer = torch.nn.Linear(2000, 2000)
    layer(torch.ones(2000, 2000)).sum().backward()


def train_on_ranks() -> None:
    """An all-reduce and a backward on every rank, as if nothing had been before."""
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(1))
    torch.nn.Linear(500, 500)(torch.ones(500, 500)).sum().backward()


if __name__ == "__main__":
    ranks = int(sys.argv[1])
    if "after-training" in sys.argv:
        train_here(threads=2)
    job = train_on_ranks if "after-training" in sys.argv else main
    start = time.perf_counter()
    notebook_launcher(job, num_processes=ranks, use_port=str(free_port()))
    print(f"seconds {time.perf_counter() - start}")
