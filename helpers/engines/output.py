"""What the ranks printed, shown in rank order."""

from __future__ import annotations

from collections.abc import Sequence


def show_output(outputs: Sequence[str]) -> None:
    """Print what each rank printed, rank after rank, each line with the rank before it."""
    lines = [
        f"rank {rank} | {line}"
        for rank, output in enumerate(outputs)
        for line in output.splitlines()
    ]
    if lines:
        print("\n".join(lines), flush=True)
