"""What a rank of a sharded model holds and sends, against ZeRO's formulas: exactly."""

from __future__ import annotations

from functools import partial

import pytest
import torch

import helpers
from helpers.engine.comm import Comm
from helpers.lessons.sharding.algorithms import memory as m
from helpers.lessons.sharding.algorithms.sharding import Sharded
from helpers.lessons.splitting.experiments.transformer import text, token_loss, transformer
from helpers.notebook.published import load

SIZES, STAGES = [1, 2, 3, 5], [1, 2, 3]
ADAM, MOMENTUM = torch.optim.Adam, partial(torch.optim.SGD, lr=0.1, momentum=0.9)
KINDS = {
    "mixed": (ADAM, True, m.MIXED_ADAM),
    "float32": (ADAM, False, m.FLOAT32_ADAM),
    "momentum": (MOMENTUM, False, m.PerParameter(4, 4, 4)),
}


def steps(comm: Comm, kind: str, stage: int, tied: bool = False) -> dict:
    """Two steps: what is held between backward and step, and afterwards; what a step sends."""
    optimizer, mixed, _ = KINDS[kind]
    torch.manual_seed(comm.rank)
    dense = transformer(13, 8, 2, 2, 5, tied=tied, seed=None)
    parameters = sum(p.numel() for p in dense.parameters())
    rows = [sum(p.numel() for p in unit.parameters()) for unit in dense]
    model = Sharded(dense, comm, optimizer, stage, mixed=mixed)
    x, y = text(3, 5, 13, seed=comm.rank)
    for _ in range(2):
        model.zero_grad()
        before = _sent(comm)
        token_loss(model(x), y).backward()
        model.step()
        sent = _sent(comm) - before
    return {
        "held": model.bytes(),
        "sent": sent,
        "padding": model.padding,
        "parameters": parameters,
        "rows": rows,
        "peak": model.peak,
        "tied": 0 if model.root is None else model.root.length,
    }


def _sent(comm: Comm) -> int:
    """Bytes that this rank has sent so far."""
    links = getattr(comm, "world", None)
    sent = links.links.sent[comm.rank] if links else comm.recorder.sent_to  # type: ignore[attr-defined]
    return sum(sent.values())


@pytest.mark.parametrize(
    ("kind", "size"), [("mixed", 2), ("mixed", 5), ("float32", 3), ("momentum", 1)]
)
def test_bytes_held_are_the_formulas(kind, size):
    for stage in STAGES:
        for seen in helpers.run(steps, kind, stage, ranks=size, engine="virtual"):
            padded = seen["parameters"] + seen["padding"]
            assert padded == sum(row + -row % size for row in seen["rows"])
            expected = m.memory(padded, size, stage, KINDS[kind][2])
            assert seen["held"] == (*expected, 0), (stage, seen)
            # Stage 3: two units' parameters and gradients at most, beside what is kept.
            most = 4 * (max(seen["rows"]) + 3) * KINDS[kind][2].parameters
            assert stage < 3 or size == 1 or seen["peak"] <= sum(seen["held"]) + most


@pytest.mark.parametrize("size", SIZES)
def test_a_step_sends_two_two_and_three_times_the_parameters(engine, size):
    """(N − 1)/N of 2Ψ, 2Ψ and 3Ψ, Ψ with its padding, from every rank."""
    for kind, itemsize in (("mixed", 2),) if size < 5 else (("float32", 4),):
        for stage in STAGES:
            for seen in helpers.run(steps, kind, stage, ranks=size, engine=engine):
                padded = seen["parameters"] + seen["padding"]
                times = 3 if stage == 3 else 2
                assert seen["sent"] * size == times * padded * itemsize * (size - 1)
                assert seen["sent"] == m.communication(padded, size, stage, itemsize)


def test_tied_parameters_are_gathered_once():
    """They stay from forward to the step, so that they are sent twice and not three times."""
    for seen in helpers.run(steps, "float32", 3, True, ranks=2, engine="virtual"):
        padded, tied = seen["parameters"] + seen["padding"], seen["tied"]
        assert tied == 13 * 8
        assert seen["sent"] * 2 == 4 * (3 * padded - tied)
        assert seen["held"] == (*m.memory(padded, 2, 3, m.FLOAT32_ADAM), 0)


# --- the formulas ---------------------------------------------------------------------------------


def test_the_published_table():
    published = load("zero_memory_gb_7.5B")
    columns = ("optimizer", "optimizer+gradients", "all")
    for stage, column in enumerate(columns, 1):
        for n, printed in zip(published.data["n"], published.data[column], strict=True):
            found = m.memory(7.5e9, n, stage).total / 1e9
            assert found == pytest.approx(printed, rel=0.01, abs=0.006)


def test_formulas():
    psi, ranks = 7_001, 5
    totals = [m.memory(psi, ranks, stage).total for stage in range(4)]
    assert totals == pytest.approx([16 * psi, 6.4 * psi, 4.8 * psi, 3.2 * psi])
    assert m.communication(psi, ranks, 3) == pytest.approx(1.5 * m.communication(psi, ranks, 2))
    with pytest.raises(ValueError, match="no stage 4"):
        m.memory(psi, ranks, 4)
    with pytest.raises(ValueError, match="on 0 ranks"):
        m.memory(psi, 0, 1)
