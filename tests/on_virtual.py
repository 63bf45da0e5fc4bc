"""What the tests of the virtual clock share."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest
import torch

from helpers.engine.virtual import run_virtual

ALPHA, BANDWIDTH = 1e-4, 1e6


def run(fn, *args, ranks=2, **options):
    """run_virtual with round numbers and a short time-out."""
    options = {"timeout": 20.0, "latency": ALPHA, "bandwidth": BANDWIDTH, **options}
    return run_virtual(fn, args, ranks, **options)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Whatever a run does, its threads end with it, and the process is as it was."""
    before, streams = set(threading.enumerate()), (sys.stdout, sys.stderr)
    workers = torch.get_num_threads()
    yield
    assert set(threading.enumerate()) <= before  # one of before may have ended meanwhile
    assert (sys.stdout, sys.stderr) == streams
    assert torch.get_num_threads() == workers
