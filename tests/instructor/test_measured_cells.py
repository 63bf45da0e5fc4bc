"""What depends on time is never compared: cells that show something measured bear nbval's tag."""

from __future__ import annotations

import pytest

from helpers.instructor.build import ROOT, notebooks
from helpers.instructor.build_notebook import code_cells, read
from tests.measuring import measured_cells, measuring

TAG = "nbval-ignore-output"
LESSONS = {path.name[:2]: path for path in notebooks(ROOT / "solutions")}
# Cells that show of a run on real workers what no clock has a part in.
TIMELESS = {
    ("05", "bytes-run"): "bytes of a set number of updates",
    ("05", "real-replay"): "whether a replay gives the same weights",
    ("08", "sync-train"): "the weights of synchronous updates",
    ("08", "step-same"): "the same",
}


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_measured_output_is_compared(lesson: str) -> None:
    cells = list(code_cells(read(LESSONS[lesson])))
    found = dict(measured_cells([cell.source for cell in cells]))
    compared = {
        cells[n].id: why
        for n, why in found.items()
        if cells[n].outputs and TAG not in cells[n].metadata.get("tags", ())
    }
    timeless = {identity for number, identity in TIMELESS if number == lesson}
    assert timeless <= compared.keys(), "a cell is there no more, or bears the tag"
    untagged = {identity: compared[identity] for identity in compared.keys() - timeless}
    assert not untagged, f"these depend on time: tag them {TAG}"


@pytest.mark.parametrize(
    "cell",
    [
        "print(helpers.run(fn, ranks=2).stats.seconds)",
        "ran = helpers.run(fn)\nran.trace.plot()",
        "import time\nprint(time.perf_counter())",
        "def timed(comm):\n    return comm.time()\nprint(helpers.run(timed))",
        "from helpers.notebook import measure as m\nprint(helpers.run(m.in_turn, ranks=2))",
        "from helpers.lessons.frameworks.experiments.ways import train\nprint(train(3))",
        "print(helpers.train(rule, engine='processes'))",
    ],
)
def test_what_is_measured_is_found_and_what_is_computed_from_it(cell: str) -> None:
    assert [n for n, _ in measured_cells(["import helpers", cell])] == [1]
    later = [
        "import helpers",
        cell.replace("print(", "x = (").replace("ran.trace", "x = ran.trace"),
    ]
    more = [*later, "y = [2 * x for _ in 'ab']", "print(y)", "y = 3", "print(y)"]
    assert [n for n, _ in measured_cells(more)] == [1, 2, 3]


@pytest.mark.parametrize(
    "cell",
    [
        "print(helpers.run(fn, engine='virtual').stats.seconds)",
        "on = dict(engine='virtual', latency=1e-6)\nprint(helpers.run(fn, **on).trace)",
        "def timed(comm):\n    return comm.time()\nprint(helpers.run(timed, engine='virtual'))",
        "print(helpers.run(fn, ranks=4))",
        "helpers.train(rule).seconds",
    ],
)
def test_what_is_on_the_virtual_clock_may_be_compared(cell: str) -> None:
    assert [*measured_cells(["import helpers", cell])] == []


def test_the_functions_that_measure_are_known() -> None:
    assert len(measuring()) > 80
