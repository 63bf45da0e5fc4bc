"""TensorFlow's servers and workers on local processes: they end, whatever their clients do."""

from __future__ import annotations

import importlib.util
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.engine.errors import RankFailed, RunTimeout
from helpers.engine.tf_cluster import Task, run_cluster
from helpers.lessons.parameter_servers.experiments.tf_parameter_server import train_parameter_server
from helpers.lessons.spare_replicas.experiments.sync_replay import replay_sync_replicas
from helpers.lessons.spare_replicas.experiments.tf_sync import train_sync_replicas
from tests.engine.test_process_failures import everything_below, remember_others

pytestmark = [
    pytest.mark.real,
    pytest.mark.tensorflow,
    pytest.mark.skipif(
        importlib.util.find_spec("tensorflow") is None,
        reason="TensorFlow is not installed; ./course doctor says what that costs.",
    ),
]


@pytest.fixture(autouse=True)
def others() -> None:
    remember_others()


def nothing_left() -> bool:
    """Whether nothing that was started in this test is left."""
    return not everything_below()


def shared_counter(task: Task) -> tuple[int, str, Any]:
    """Every worker adds one to the same variable, until all have."""
    import time

    import tensorflow as tf

    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default(), v1.device(task.placement()):
        count = v1.get_variable("count", initializer=0)
        add = count.assign_add(1)
        missing = v1.report_uninitialized_variables()
    with task.session(graph) as session:
        if task.is_chief:
            session.run(count.initializer)
        while len(session.run(missing)):
            time.sleep(0.005)
        session.run(add)
        while session.run(count) < len(task.cluster["worker"]):
            time.sleep(0.005)
        return int(session.run(count)), count.device, json.loads(os.environ["TF_CONFIG"])


def test_workers_share_what_is_on_a_server(capfd: pytest.CaptureFixture[str]) -> None:
    results = run_cluster(shared_counter, servers=2, workers=3)
    assert [(count, device) for count, device, _ in results] == [(3, "/job:ps/task:0")] * 3
    configs = [config for _, _, config in results]
    assert [config["task"]["index"] for config in configs] == [0, 1, 2]
    cluster = configs[0]["cluster"]
    assert {kind: len(tasks) for kind, tasks in cluster.items()} == {"worker": 3, "ps": 2}
    assert len({address for tasks in cluster.values() for address in tasks}) == 5
    # TensorFlow's chatter stays out of the notebook.
    assert results.output == [""] * 5 and capfd.readouterr() == ("", "")
    assert nothing_left()


def waits_for_a_token(task: Task) -> int:
    """Worker 0 returns; the others wait for what nobody will give them."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph, tf.compat.v1.device("/job:ps/task:0"):
        queue = tf.compat.v1.FIFOQueue(1, tf.int64, shared_name="tokens")
        take = queue.dequeue()
    if task.is_chief:
        return 7
    with task.session(graph) as session:
        return int(session.run(take))


@pytest.mark.thorough
def test_workers_that_all_wait_for_ever_are_ended() -> None:
    with pytest.raises(RunTimeout, match=r"session\.run\(take\)"):
        run_cluster(waits_for_a_token, workers=2, timeout=10)
    assert nothing_left()


def test_a_client_that_fails_ends_the_run_and_is_named() -> None:
    def fails(task: Task) -> None:
        if task.index == 1:
            raise KeyError("no such variable")
        waits_for_a_token(Task("worker", 1, task.cluster))

    with pytest.raises(RankFailed, match="no such variable") as failed:
        run_cluster(fails, workers=2)
    assert failed.value.rank == 1 and nothing_left()


def test_what_a_task_says_and_how_it_ends_is_told_under_its_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said = tmp_path / "worker 0 has said it"

    def fails(task: Task) -> None:
        import tensorflow as tf

        print("read the data", flush=True)
        if task.is_chief:
            said.touch()
        if task.index == 1:
            while not said.exists():
                time.sleep(0.005)
            with tf.Graph().as_default() as graph, tf.compat.v1.device("/job:ps/task:7"):
                nowhere = tf.compat.v1.get_variable("nowhere", [1])
            with task.session(graph) as session:
                session.run(nowhere.initializer)

    with pytest.raises(RankFailed) as failed:
        run_cluster(fails, workers=2)
    assert capsys.readouterr().out == "worker 0 | read the data\nworker 1 | read the data\n"
    report = failed.value.report
    assert report.startswith("Rank 1 of 3 (/job:worker/task:1) raised InvalidArgumentError")
    assert "'/job:ps/task:7'. All available devices" in report
    # Neither TensorFlow's account of every op around it, nor what the engine did before.
    assert "Colocation Debug" not in report and "after: " not in report
    assert "helpers/engine" not in report and nothing_left()


def test_a_coordinator_runs_on_workers_that_have_no_program() -> None:
    def client(task: Task) -> tuple[str, list[str]]:
        import tensorflow as tf

        with tf.Graph().as_default() as graph:
            made = []
            for index in range(2):
                with tf.compat.v1.device(f"/job:worker/task:{index}"):
                    made.append(tf.random.uniform([]))
        with tf.compat.v1.Session(task.target, graph=graph) as session:
            session.run(made)
        return task.device, [tensor.device for tensor in made]

    (found,) = run_cluster(client, coordinator=True, workers=2)
    assert found == ("/job:chief/task:0", ["/job:worker/task:0", "/job:worker/task:1"])


# --- the two trainings -----------------------------------------------------------------------


@pytest.mark.thorough
def test_a_slow_worker_is_spared_and_with_all_needed_the_loss_is_the_rebuilt_ones() -> None:
    setting = {"seconds": (0.0, 0.0, 0.1), "steps": 10}
    spare = train_sync_replicas(aggregate=2, **setting)
    assert sum(spare.counted) >= 20 and len(spare.times) == 10
    everyone = {"aggregate": 3, "seconds": (0.05,) * 3, "steps": 10}
    ours = replay_sync_replicas(**everyone)
    real = train_sync_replicas(**everyone)
    assert sum(real.counted) == 30 and real.dropped == ours.dropped == [0] * 3
    assert ours.counted == [10] * 3
    if real.counted == ours.counted:  # who is quick while another is held up takes two tokens
        assert real.loss == pytest.approx(ours.loss, rel=1e-5)
    assert nothing_left()


def test_the_rebuilt_one_drops_the_slow_workers_gradients() -> None:
    replay = replay_sync_replicas((0.02, 0.02, 0.08), aggregate=2, steps=30)
    assert replay.counted == [30, 30, 0] and replay.dropped[2] == 10
    assert replay.loss < replay_sync_replicas(steps=1).loss
    # With nobody spare everyone waits for the slow worker, which never waits.
    trace = replay_sync_replicas((0.02, 0.08), aggregate=2, steps=5).trace
    assert trace is not None
    waits = [(event.rank, event.start, event.end) for event in trace if event.kind == "waiting"]
    assert waits == [
        (0, pytest.approx(0.08 * n + 0.02), pytest.approx(0.08 * (n + 1))) for n in range(5)
    ]


def test_variables_are_cut_and_spread_over_the_servers() -> None:
    run = train_parameter_server(steps=70, block=20, shards=2)
    names = sorted(shard.variable for shard in run.shards)
    assert names == sorted(["hidden", "hidden_bias", "out", "out_bias"] * 2)
    assert {shard.device for shard in run.shards} == {"/job:ps/task:0", "/job:ps/task:1"}
    assert sum(shard.nbytes for shard in run.shards) == 4 * (64 * 128 + 128 + 128 * 10 + 10)
    # Nobody waits for anybody within a block, and yet no update is lost.
    assert run.updates == 70 and run.steps == [0, 20, 40, 60, 70]
    assert run.losses[-1] < 0.6 * run.losses[0]
    assert nothing_left()


WRONG: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (run_cluster, {"fn": shared_counter, "workers": 0}, "1 worker or more"),
    (train_sync_replicas, {"aggregate": 4}, "aggregate goes from 1 to 3"),
    (replay_sync_replicas, {"steps": 0}, "1 step or more"),
    (train_parameter_server, {"servers": 0}, "servers=1 or more"),
    (train_parameter_server, {"steps": 5, "block": 10}, "give steps ≥ block"),
]


@pytest.mark.parametrize(("call", "options", "message"), WRONG)
def test_wrong_settings_say_what_to_do(
    call: Callable[..., Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        call(**options)
