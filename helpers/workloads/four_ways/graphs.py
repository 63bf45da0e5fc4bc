"""Moved: the builders are in `helpers.algorithms.four_ways`. This file goes."""

from helpers.algorithms.four_ways import (
    between_graph_async,
    between_graph_sync,
    in_graph_async,
    in_graph_sync,
    run_threads,
)

__all__ = [
    "between_graph_async",
    "between_graph_sync",
    "in_graph_async",
    "in_graph_sync",
    "run_threads",
]
