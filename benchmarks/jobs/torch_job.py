"""What torchrun starts on every rank."""

import socket

import torch
import torch.distributed as dist


def main() -> None:
    """One all-reduce of one number."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    assert total.item() == dist.get_world_size()
    dist.destroy_process_group()


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
