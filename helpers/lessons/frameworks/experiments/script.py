"""What the scripts in cluster/local share: an option, a quiet start, and their last line."""

from __future__ import annotations

import argparse
import os
import runpy
from collections.abc import Callable
from typing import Any, cast

from helpers.lessons.frameworks.experiments import setting


def options(piece: str | None = None) -> argparse.Namespace:
    """What was asked for on the command line: `.steps`, and `.mine` where there is a piece.

    piece: the name of the function that a file of one's own may give; None where it gives none.
    """
    parser = argparse.ArgumentParser(description="Train the network of lesson 04 on all ranks.")
    parser.add_argument("--steps", type=int, default=50, help="steps to train (50)")
    if piece is not None:
        parser.add_argument(
            "--mine", metavar="FILE", help=f"a Python file with a function {piece} of your own"
        )
    return parser.parse_args()


def function_in(file: str, name: str) -> Callable[..., Any]:
    """A function from a Python file. Raises SystemExit where the file has none of that name."""
    found = runpy.run_path(file).get(name)
    if not callable(found):
        raise SystemExit(f"{file} has no function {name}: write your answer of the lesson into it.")
    return cast(Callable[..., Any], found)


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
