"""Groups of ranks, and two kinds of parallelism on a mesh of them."""

from __future__ import annotations

import pytest
import torch
from tensor_parallel_cases import (
    SHAPE,
    STEPS,
    assert_parts,
    batch,
    dense,
    dense_training,
    optimizer_of,
    state,
)

import helpers
from helpers.lessons.bandwidth.algorithms.mesh import Group, Mesh
from helpers.lessons.data_parallel.algorithms.data_parallel import (
    DataParallel,
    average_gradients,
    rows_of,
)
from helpers.lessons.messages.algorithms import collectives as c
from helpers.lessons.sharding.algorithms.vocabulary_parallel import (
    parallel_transformer,
    vocabulary_cross_entropy,
)


def test_a_collective_in_each_row_and_each_column(engine):
    def job(comm):
        mesh = Mesh(comm, 2, 3)
        groups, mine = (mesh.row, mesh.column), torch.tensor([float(comm.rank)])
        sums = [c.all_reduce_tree(group, mine.clone()).item() for group in groups]
        # On the thread for communication, which is given the group; and in the group's own memory.
        beside = [group.background(c.all_reduce_ring, mine.clone()).wait() for group in groups]
        buffers = mesh.row.shared((2,))
        buffers[mesh.row.rank] += comm.rank
        comm.barrier()
        return mesh.place, sums, beside, [buffer[0].item() for buffer in buffers]

    for rank, (place, sums, beside, held) in enumerate(helpers.run(job, ranks=6, engine=engine)):
        row, column = divmod(rank, 3)
        assert place == (row, column)
        assert sums == beside == [3 + 9 * row, 3 + 2 * column]
        assert held == [3 * row, 3 * row + 1, 3 * row + 2]


def test_a_group_is_in_the_order_of_its_members(engine):
    def job(comm):
        if comm.rank == 1:
            return None
        group = Group(comm, (2, 0))
        tensor = torch.tensor([group.rank])
        group.barrier()
        return c.broadcast_tree(group, tensor, root=1).item()

    assert list(helpers.run(job, ranks=3, engine=engine)) == [1, None, 1]


def test_what_is_no_group_is_refused():
    def job(comm):
        with pytest.raises(ValueError, match="is not one of"):
            Group(comm, [1 - comm.rank])
        with pytest.raises(ValueError, match="holds each rank once"):
            Group(comm, [0, 1, 0])
        with pytest.raises(ValueError, match="the ranks are 0 to 1"):
            Group(comm, [0, 1, 2])
        with pytest.raises(ValueError, match="2 × 2 ranks are not 2"):
            Mesh(comm, 2, 2)
        group = Group(comm, [1, 0])
        with pytest.raises(ValueError, match="the group's ranks are 0 to 1"):
            group.isend(torch.zeros(1), 2)
        with pytest.raises(TypeError, match="no number of a rank"):
            group.recv("left")

    helpers.run(job, ranks=2, engine="virtual")


# --- tensor parallel along a row, data parallel along a column ------------------------------------


def _on_a_mesh(comm, rows, columns, overlapped, total):
    mesh = Mesh(comm, rows, columns)
    model = parallel_transformer(dense(comm.rank, True, True), mesh.row)
    replica = DataParallel(model, mesh.column) if overlapped else None
    if replica is None:
        for parameter in model.parameters():
            c.broadcast_tree(mesh.column, parameter)
    optimizer = optimizer_of(model, adam=False)
    losses, states = [], []
    for step in range(STEPS):
        tokens, targets = (
            rows_of(t, mesh.column.rank, mesh.column.size) for t in batch(step, total)
        )
        weight = len(tokens) / total
        optimizer.zero_grad()
        scores = (replica or model)(tokens)
        loss = vocabulary_cross_entropy(mesh.row, scores, targets, SHAPE["vocabulary"])
        if replica is None:
            loss.backward()
            average_gradients(mesh.column, model, len(tokens), total)
        else:
            replica.weight = weight
            loss.backward()
            replica.finish()
        optimizer.step()
        mean = c.all_reduce_ring(mesh.column, loss.detach() * weight)
        losses.append(mean.item())
        states.append(state(model))
    return losses, states


@pytest.mark.parametrize(
    ("engine", "rows", "columns"),
    [
        *(("virtual", rows, columns) for rows, columns in [(1, 3), (3, 1), (2, 3)]),
        pytest.param("processes", 2, 2, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("overlapped", [False, True], ids=["after", "overlapped"])
def test_tensor_and_data_parallel_equal_the_dense_model(engine, rows, columns, overlapped):
    total = 7  # rows of the batch: uneven shards
    results = helpers.run(
        _on_a_mesh, rows, columns, overlapped, total, ranks=rows * columns, engine=engine
    )
    expected = dense_training(tied=True, frozen=True, rows=total)
    for at_row in range(rows):
        assert_parts(results[at_row * columns : (at_row + 1) * columns], expected, columns)
