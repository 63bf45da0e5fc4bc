"""torch.multiprocessing.spawn from a process that has torch: prints the seconds it takes."""

import os
import sys
import time

import torch.multiprocessing as mp

from benchmarks.jobs.torch_job import free_port, main


def rank(number: int, ranks: int, port: int) -> None:
    """One rank: the same job as torchrun's."""
    os.environ.update(
        RANK=str(number), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)
    )
    main()


if __name__ == "__main__":
    ranks = int(sys.argv[1])
    start = time.perf_counter()
    mp.spawn(rank, (ranks, free_port()), nprocs=ranks)
    print(f"seconds {time.perf_counter() - start}")
