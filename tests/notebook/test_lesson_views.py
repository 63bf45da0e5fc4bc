"""What the lessons' cells show and count: tables, a ring's chunks, formulas, times in turn."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import helpers
from helpers.lessons.messages.algorithms import collectives
from helpers.lessons.messages.figures import link_view
from helpers.lessons.messages.figures import message_view as view
from helpers.lessons.messages.figures.chunks import ring_states, sent_chunk
from helpers.notebook.measure import in_turn
from helpers.notebook.tables import table

SIZES = (2, 3, 5)


def test_a_table_lines_up_as_text_and_escapes_its_html() -> None:
    shown = table(["link", "GB/s"], [["a <b>", 1.5], ["longer", "12.5"]], caption="One & two")
    assert repr(shown).splitlines() == [
        "One & two",
        "link    GB/s",
        "------  ----",
        "a <b>    1.5",
        "longer  12.5",
    ]
    page = shown._repr_html_()
    assert "a &lt;b&gt;" in page and "One &amp; two" in page and 'scope="col"' in page


@pytest.mark.parametrize("size", SIZES)
def test_the_drawn_ring_ends_with_every_chunk_complete(size: int) -> None:
    """Rank r owns chunk r after the first half, and everybody has everything at the end."""
    states = ring_states(size)
    assert len(states) == 2 * (size - 1) + 1
    everyone = frozenset(range(size))
    assert all(states[size - 1][rank][rank] == everyone for rank in range(size))
    assert all(chunk == everyone for row in states[-1] for chunk in row)


@pytest.mark.parametrize("size", SIZES)
def test_the_drawn_ring_sends_what_the_built_one_sends(size: int) -> None:
    """With one element a chunk, the place in the tensor is the chunk's number."""
    sent: list[list[int]] = [[] for _ in range(size)]

    class Spy:
        def __init__(self, comm: Any) -> None:
            self.comm, self.rank, self.size = comm, comm.rank, comm.size

        def isend(self, tensor: torch.Tensor, to: int) -> Any:
            sent[self.rank].append(tensor.storage_offset())
            return self.comm.isend(tensor, to)

        def recv(self, source: int, into: Any = None) -> Any:
            return self.comm.recv(source, into)

    def job(comm: Any) -> None:
        collectives.all_reduce_ring(Spy(comm), torch.zeros(size))  # type: ignore[arg-type]

    helpers.run(job, ranks=size, engine="virtual")
    for rank in range(size):
        steps = range(2 * (size - 1))
        assert sent[rank] == [sent_chunk(rank, step, size) for step in steps]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", link_view.MODELS)
def test_the_busiest_rank_sends_what_the_formula_says(name: str, size: int) -> None:
    reduce = getattr(collectives, f"all_reduce_{name.replace('-', '_')}")

    def job(comm: Any) -> None:
        reduce(comm, torch.zeros(240))

    stats = helpers.run(job, ranks=size, engine="virtual").stats
    messages, tensors = link_view.busiest_rank(name, size)
    assert max(stats.messages) == messages
    assert max(stats.bytes) == pytest.approx(tensors * 960)


def test_in_turn_starts_every_contender_on_all_ranks_the_same_number_of_times() -> None:
    def job(comm: Any) -> tuple[dict[str, list[float]], list[str]]:
        ran: list[str] = []
        contenders = {name: lambda name=name: ran.append(name) for name in ("a", "b")}
        return in_turn(comm, contenders, repeats=3), ran

    for seconds, ran in helpers.run(job, ranks=2, engine="virtual"):
        assert {name: len(times) for name, times in seconds.items()} == {"a": 3, "b": 3}
        assert ran.count("a") == ran.count("b") == 5


def test_every_figure_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    for module in (view, link_view):
        monkeypatch.setattr(module, "show", lambda figure, caption, alt: drawn.append(figure))
    links = {"shared memory": (3e-5, 1e-10), "sockets": (1e-4, 2e-10)}
    points = {name: [alpha, alpha * 2] for name, (alpha, _) in links.items()}
    everything = {"copy of memory": [1e-6, 1e-6], **points}
    times = dict.fromkeys(link_view.CONTENDERS, 1e-3)
    view.show_two_sums({"ring": 0.2})
    view.show_growth([2, 4], {"loop": [1.0, 3.0], "tree": [1.0, 2.0]}, 1.0)
    link_view.show_message_times([64, 256], points, links)
    link_view.show_message_speeds([64, 256], everything, links)
    link_view.show_all_reduces([0.01, 40], {2: [times, times], 4: [times, times]}, links)
    link_view.show_elsewhere(links)
    assert len(drawn) == 6 and all(figure.axes for figure in drawn)
    title = link_view.which_wins(16, 1e5, 5e-5, 1e-9).axes[0].get_title()
    assert "halving-doubling is quickest" in title
