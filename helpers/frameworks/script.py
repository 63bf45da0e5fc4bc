"""What the scripts in cluster/local share: an option, a quiet start, and their last line."""

from __future__ import annotations

import argparse
import os

from helpers.frameworks import setting


def steps() -> int:
    """The number of steps that was asked for on the command line."""
    parser = argparse.ArgumentParser(description="Train the network of lesson 04 on all ranks.")
    parser.add_argument("--steps", type=int, default=50, help="steps to train (50)")
    return int(parser.parse_args().steps)


def import_tensorflow() -> None:
    """Import TensorFlow without what it says on the way, and leave GPUs alone."""
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    from helpers.notebook.quiet import tensorflow

    tensorflow.get_logger().setLevel("ERROR")


def tell(ranks: int, part: setting.Part, loss: float) -> None:
    """Print one line, the same in every framework: the last loss, and a checksum of the weights."""
    print(
        f"{len(part.losses)} steps on {ranks} ranks: loss {loss:.4f}, "
        f"checksum of the weights {setting.checksum(part.weights):.4f}",
        flush=True,
    )
