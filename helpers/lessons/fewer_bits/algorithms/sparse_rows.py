"""Gradients of embedding tables: rows that a batch touched travel, the others are zero anyway."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import Parameter

from helpers.lessons.bandwidth.algorithms.sparse import sum_sparse
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring

if TYPE_CHECKING:
    from helpers.engine.comm import Comm
    from helpers.lessons.data_parallel.algorithms.bucket import Bucket


class SparseRows:
    """A sum that sends the rows of some tables that are not zero, and all else round a ring.

        replica = DataParallel(model, comm, reduce=SparseRows([model.embedding.weight]))

    tables: parameters of two dimensions, a word a row. Exact: their sums are those of rank 0's
    rows, then rank 1's, and so on, as `all_reduce_naive` adds them.
    """

    def __init__(self, tables: Iterable[Parameter]) -> None:
        self.tables = {id(table) for table in tables}
        self.buckets: dict[int, Bucket] = {}

    def take_buckets(self, buckets: Sequence[Bucket]) -> None:
        """Learn which parameters lie in each buffer."""
        self.buckets = {bucket.flat.data_ptr(): bucket for bucket in buckets}

    def __call__(self, comm: Comm, tensor: Tensor) -> Tensor:
        """Sum in place. Raises ValueError for a buffer that it was not told of."""
        bucket = self.buckets.get(tensor.data_ptr())
        if bucket is None:
            raise ValueError(
                "SparseRows does not know which tables lie in this tensor: give it to "
                "DataParallel(…, reduce=…), or call take_buckets first."
            )
        dense = []
        for parameter, view in bucket.views.items():
            if id(parameter) not in self.tables:
                dense.append(view)
                continue
            rows = (view != 0).any(1).nonzero()[:, 0]
            rows, sums = sum_sparse(comm, rows, view[rows])
            view.zero_()[rows] = sums
        if dense:
            flat = torch.cat([view.reshape(-1) for view in dense])
            all_reduce_ring(comm, flat)
            for view, part in zip(dense, flat.split([v.numel() for v in dense]), strict=True):
                view.copy_(part.view(view.shape))
        return tensor
