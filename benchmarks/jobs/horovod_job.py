"""What horovodrun starts on every rank."""

import horovod.torch as hvd
import torch


def main() -> None:
    """One all-reduce of one number."""
    torch.set_num_threads(1)
    hvd.init()
    total = hvd.allreduce(torch.ones(1), op=hvd.Sum)
    assert total.item() == hvd.size()
    hvd.shutdown()


if __name__ == "__main__":
    main()
