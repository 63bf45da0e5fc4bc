"""TensorFlow's four ways, on real servers and workers, and several clients in one session."""

from __future__ import annotations

from typing import Any

import psutil
import pytest

from helpers.engine.errors import RankFailed
from helpers.lessons.four_ways.experiments import model
from helpers.lessons.four_ways.experiments.record import WAYS, Gradient
from helpers.lessons.four_ways.experiments.runs import WayRun, train_alone, train_way

pytestmark = pytest.mark.tensorflow
CLUSTERS = [(3, 1), (4, 2)]
STEPS = 30


def each(kind: str, everyday: str) -> list[Any]:
    """The ways of a kind on both clusters; one everyday."""
    rows = [(way, *cluster) for way in WAYS if way.endswith(kind) for cluster in CLUSTERS]
    first = (everyday, *CLUSTERS[0])
    rest = [pytest.param(*row, marks=pytest.mark.thorough) for row in rows if row != first]
    return [first, *rest]


def below() -> set[int]:
    """The processes that the servers under this one have forked."""
    return {c.pid for server in psutil.Process().children() for c in server.children()}


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Any:
    earlier = below()
    yield
    assert not below() - earlier


def difference(run: WayRun) -> float:
    """How far the weights are from those of training with one big batch."""
    alone = train_alone(workers=run.workers, steps=STEPS)
    return max(float(abs(a - b).max()) for a, b in zip(run.weights, alone, strict=True))


@pytest.mark.real
@pytest.mark.parametrize(("way", "workers", "servers"), each(" sync", "between-graph sync"))
def test_a_synchronous_way_equals_one_big_batch(way: str, workers: int, servers: int) -> None:
    run = train_way(way, workers, servers, steps=STEPS)
    assert difference(run) < 1e-5
    assert run.updates == STEPS and run.loss < model_loss_at_start(run)
    assert run.counted == [STEPS] * workers and run.dropped == [0] * workers
    assert set(run.staleness) == {0}


@pytest.mark.real
@pytest.mark.parametrize(("way", "workers", "servers"), each("async", "in-graph async"))
def test_an_asynchronous_way_has_stale_gradients_and_learns(
    way: str, workers: int, servers: int
) -> None:
    # None is so quick that it is done before another, whose graph is only made then, has begun.
    slow = dict.fromkeys(range(workers), 0.02) | {1: 0.1}
    run = train_way(way, workers, servers, steps=STEPS, slow=slow)
    # It ends at so many updates or a few more: each worker looks only after its own.
    assert STEPS * workers <= run.updates < STEPS * workers + workers
    assert len(run.gradients) == run.updates == sum(run.counted)
    late = [each.staleness for each in run.gradients if each.worker == 1]
    assert late and max(run.staleness) > 0 and min(run.staleness) >= 0
    assert difference(run) > 1e-3 and run.loss < model_loss_at_start(run)


def model_loss_at_start(run: WayRun) -> float:
    """The loss before training."""
    rows = model.data(run.workers, 20, 1, 0)
    return model.mean_loss(rows.weights, rows.x, rows.y)


@pytest.mark.real
def test_an_error_in_a_thread_ends_the_run() -> None:
    def fails(session: Any, updates: Any, step: Any, last: int) -> None:
        from helpers.lessons.four_ways.algorithms.four_ways import run_threads

        run_threads(session, updates, "no such tensor:0", last)

    with pytest.raises(RankFailed, match="no such tensor"):
        train_way("in-graph async", workers=2, threads=fails)

    with pytest.raises(RankFailed, match="gives an op, not"):
        train_way("in-graph sync", workers=1, builder=lambda *given: None)
    with pytest.raises(RankFailed, match=r"gives \(update, hook\), not 1"):
        train_way("between-graph sync", workers=1, builder=lambda *given: 1)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"way": "in graph"}, "There is no way 'in graph'"),
    ({"way": "in-graph sync", "servers": 0}, "at least 1 worker, 1 server"),
    ({"way": "in-graph sync", "slow": {3: 0.1}}, "workers 0 to 2"),
    ({"way": "in-graph async", "spare": 1}, "no spare workers"),
    ({"way": "between-graph sync", "spare": 3}, "0 to 2 can be spare"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_settings_say_what_to_do(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train_way(**options)


def made(way: str, gradients: list[Gradient]) -> WayRun:
    """A run that nobody ran."""
    return WayRun(way, 2, 1, sorted(gradients, key=lambda g: g.end), [], 0.5, len(gradients))


def test_what_a_run_tells_of_its_gradients() -> None:
    ends = [(0, 1.0), (1, 1.5), *((n % 2, 1.5 + 0.1 * n) for n in range(1, 11))]
    late = [(0, 1.0 + 0.1 * n) for n in range(11)] + [(1, 2.0)]
    # Ten steps from 1.5 to 2.5 s: the start is left out. And worker 1 came when all was over.
    for times, pace in ((ends, 10), (late, 11)):
        run = made("in-graph async", [Gradient(w, end - 0.1, end, 0, 1, 2.0) for w, end in times])
        assert run.steps_per_second == pytest.approx(pace)
    rows = [(0, True), (1, True), (0, True), (1, False)]
    run = made("between-graph sync", [Gradient(w, 0, 1, 0, 0, 1.0, c) for w, c in rows])
    assert run.counted == [2, 1] and run.dropped == [0, 1] and run.staleness == [0, 0, 0]
