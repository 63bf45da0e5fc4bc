"""TensorFlow's four ways, on real servers and workers, and several clients in one session."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil
import pytest

import helpers
from helpers.checks.drives.tf_graphs import stands_for, task_of, together
from helpers.engine.errors import RankFailed, RunTimeout
from helpers.lessons.four_ways.experiments import model
from helpers.lessons.four_ways.experiments.four_ways_clock import WAYS
from helpers.lessons.four_ways.experiments.record import Gradient
from helpers.lessons.four_ways.experiments.runs import WayRun, own, train_alone, train_way

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.skipif(
        importlib.util.find_spec("tensorflow") is None,
        reason="TensorFlow is not installed; ./course doctor says what that costs.",
    ),
]
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


# --- the four ways on servers and workers ----------------------------------------------------


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
@pytest.mark.thorough
@pytest.mark.parametrize(("workers", "servers"), CLUSTERS)
def test_with_a_spare_worker_the_slow_ones_gradients_are_dropped(
    workers: int, servers: int
) -> None:
    slow = workers - 1
    # The others take time as well: its first gradient comes before all is over.
    pace = dict.fromkeys(range(workers), 0.02) | {slow: 0.1}
    run = train_way("between-graph sync", workers, servers, STEPS, pace, spare=1)
    assert run.updates == STEPS and sum(run.counted) >= STEPS * (workers - 1)
    assert set(run.staleness) == {0}


@pytest.mark.thorough
@pytest.mark.real
def test_a_function_of_ones_own_takes_the_place_of_the_courses() -> None:
    def sums(devices: Any, server: Any, batches: Any, loss: Any, *rest: Any) -> Any:
        """Gradients of the sum of the losses: too long a step."""
        import tensorflow as tf

        variables, step, optimizer = rest
        total = tf.add_n([loss(batch, variables) for batch in batches])
        return optimizer.minimize(total, step, var_list=variables)

    run = train_way("in-graph sync", workers=2, steps=STEPS, builder=sums, rate=0.1)
    assert run.updates == STEPS and difference(run) > 1e-3
    right = train_alone(workers=2, steps=STEPS, rate=0.2)
    assert np.allclose(run.weights[0], right[0], atol=1e-5)


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


@pytest.mark.thorough
@pytest.mark.real
def test_threads_that_hang_are_ended() -> None:
    def hangs(session: Any, updates: Any, step: Any, last: int) -> None:
        while True:
            session.run(step)

    with pytest.raises(RunTimeout, match=r"/job:chief/task:0"):
        train_way("in-graph async", workers=1, threads=hangs, timeout=6)


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


# --- what a run tells ------------------------------------------------------------------------


def made(way: str, gradients: list[Gradient]) -> WayRun:
    """A run that nobody ran."""
    return WayRun(way, 2, 1, sorted(gradients, key=lambda g: g.end), [], 0.5, len(gradients))


def test_steps_a_second_leave_out_what_is_only_the_start() -> None:
    ends = [(0, 1.0), (1, 1.5), *((n % 2, 1.5 + 0.1 * n) for n in range(1, 11))]
    run = made("in-graph async", [Gradient(w, end - 0.1, end, 0, 1, 2.0) for w, end in ends])
    assert run.steps_per_second == pytest.approx(10)  # ten steps from 1.5 to 2.5 s
    late = [(0, 1.0 + 0.1 * n) for n in range(11)] + [(1, 2.0)]
    run = made("in-graph async", [Gradient(w, end - 0.1, end, 0, 1, 2.0) for w, end in late])
    assert run.steps_per_second == pytest.approx(11)  # worker 1 came when all was over


def test_what_counted_and_what_was_dropped_is_counted_by_worker() -> None:
    rows = [(0, True), (1, True), (0, True), (1, False)]
    run = made("between-graph sync", [Gradient(w, 0, 1, 0, 0, 1.0, c) for w, c in rows])
    assert run.counted == [2, 1] and run.dropped == [0, 1] and run.staleness == [0, 0, 0]


# --- several clients' graphs in one session --------------------------------------------------


def test_names_of_devices() -> None:
    assert task_of("/job:ps/replica:0/task:1/device:CPU:0") == "/job:ps/task:1"
    assert (task_of("/job:worker"), task_of("/device:CPU:2")) == ("/job:worker/task:0", "")
    devices = {"/job:ps/task:0": "/CPU:0"}
    assert stands_for("/job:ps/task:0", devices) == "/CPU:0" and stands_for("", devices) == ""
    with pytest.raises(KeyError, match="no task of this cluster"):
        stands_for("/job:ps/task:1", devices)


def shared(comm: Any) -> tuple[list[int], list[int]]:
    """Two clients count on a server together, and each on its own device alone."""
    import tensorflow as tf

    from helpers.checks.drives.tf import settings

    v1, made = tf.compat.v1, []
    for index in range(2):
        with tf.Graph().as_default() as graph:
            with tf.device("/job:ps/task:0"), v1.container("counts"):
                both = v1.get_variable("both", initializer=0)
            with tf.device(f"/job:worker/task:{index}"):
                alone = v1.get_variable("alone", initializer=0)
            start = v1.global_variables_initializer()
            made.append((graph, start, [both.assign_add(1), alone.assign_add(1)]))
    devices = {"/job:ps/task:0": "/CPU:0"}
    devices |= {f"/job:worker/task:{index}": f"/CPU:{index + 1}" for index in range(2)}
    common = together([graph for graph, _, _ in made], devices)
    with v1.Session(graph=common.graph, config=settings(3)) as session:
        for index, (_, start, _) in enumerate(made):
            session.run(common.of(index, start))
        first, second = (session.run(common.of(i, made[i][2])) for i in (0, 1))
    return [int(each) for each in first], [int(each) for each in second]


@pytest.mark.real
def test_what_lies_on_a_server_is_shared_in_one_session_too() -> None:
    (found,) = helpers.run(shared, ranks=1, framework="tensorflow")
    assert found == ([1, 1], [2, 1])


def test_every_way_has_a_function() -> None:
    found: list[Callable[..., Any]] = [own(name) for name in WAYS]
    assert len({each.__name__ for each in found}) == 4
