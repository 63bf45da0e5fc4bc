"""What the ranks printed, shown in rank order."""

from __future__ import annotations

from collections.abc import Sequence


def show_output(outputs: Sequence[str], names: Sequence[str] = ()) -> None:
    """Print what each rank printed, rank after rank, each line with the rank before it.

    names: what the ranks are called, if not "rank 0" and so on.
    """
    names = names or [f"rank {rank}" for rank in range(len(outputs))]
    lines = [
        f"{name} | {line}"
        for name, output in zip(names, outputs, strict=True)
        for line in output.splitlines()
    ]
    if lines:
        print("\n".join(lines), flush=True)
