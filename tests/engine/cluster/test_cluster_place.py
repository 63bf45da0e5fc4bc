"""Which rank a process is, from what each launcher leaves in the environment."""

from __future__ import annotations

import pytest

from helpers.engine.cluster import place as places
from helpers.engine.cluster.place import Place, place, step_port, tasks_here
from helpers.engine.places import ENGINES, is_engine

SRUN = {
    "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "5",
    "SLURM_LOCALID": "0", "SLURM_NODEID": "2", "SLURM_STEP_TASKS_PER_NODE": "2(x2),1",
    "SLURMD_NODENAME": "n3", "SLURM_STEP_NODELIST": "n[1-3]",
}  # fmt: skip


def test_each_launcher_is_understood() -> None:
    # srun's tasks: the rank, and how many of them this node has.
    assert place(SRUN) == Place(3, 5, 0, 1, "n3", "srun")
    torchrun = {
        "RANK": "2", "WORLD_SIZE": "4", "MASTER_ADDR": "n1", "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "2", "COURSE_NODE": "node1",
    }  # fmt: skip
    assert place(torchrun) == Place(2, 4, 0, 2, "node1", "torchrun")
    horovodrun = {
        "HOROVOD_RANK": "1", "HOROVOD_SIZE": "2", "HOROVOD_LOCAL_RANK": "1",
        "HOROVOD_LOCAL_SIZE": "2", "HOROVOD_HOSTNAME": "a",
    }  # fmt: skip
    assert place(horovodrun) == Place(1, 2, 1, 2, "a", "horovodrun")
    assert place({}) is None


def test_the_innermost_launcher_counts() -> None:
    # ibrun's ranks have the batch script's SLURM_PROCID, which is 0 for all of them.
    ibrun = {
        "SLURM_PROCID": "0", "SLURM_JOB_ID": "7", "PMI_RANK": "5", "PMI_SIZE": "8",
        "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "4", "SLURMD_NODENAME": "c2",
    }  # fmt: skip
    assert place(ibrun) == Place(5, 8, 1, 4, "c2", "ibrun")
    # torchrun under ibrun or srun: its ranks are the job's.
    inner = {"RANK": "6", "WORLD_SIZE": "8", "MASTER_ADDR": "c1", "LOCAL_RANK": "2"}
    found = place({**ibrun, **SRUN, **inner})
    assert found is not None and (found.rank, found.launcher) == (6, "torchrun")


def test_a_variable_that_is_empty_says_nothing() -> None:
    assert place({"RANK": "", "WORLD_SIZE": "", "MASTER_ADDR": ""}) is None
    assert place({**SRUN, "RANK": "", "WORLD_SIZE": "4", "MASTER_ADDR": "n1"}) == place(SRUN)


def test_open_mpi_in_a_shell_of_srun_s_is_told() -> None:
    shell = {**SRUN, "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}
    started = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}
    for beside in (shell, {}):
        with pytest.raises(RuntimeError, match="Open MPI started this process, as rank 2 of 4"):
            place({**beside, **started})
    inner = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "n1", "LOCAL_RANK": "0"}
    found = place({**shell, **started, **inner})
    assert found is not None and found.launcher == "torchrun"


def test_a_batch_script_is_no_rank() -> None:
    # It has SLURM_PROCID=0 and SLURM_NTASKS, and would wait for ranks that nobody starts.
    assert place({"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"}) is None


@pytest.mark.parametrize(
    ("listed", "node", "count"), [("4", 0, 4), ("2(x3),1", 2, 2), ("2(x3),1", 3, 1), ("3,1", 1, 1)]
)
def test_tasks_of_a_node(listed: str, node: int, count: int) -> None:
    assert tasks_here({"SLURM_STEP_TASKS_PER_NODE": listed, "SLURM_NODEID": str(node)}) == count


def test_ranks_agree_on_a_port_and_steps_differ() -> None:
    first, other = step_port(SRUN), step_port({**SRUN, "SLURM_STEP_ID": "1"})
    assert first == step_port({**SRUN, "SLURM_PROCID": "0"}) != other
    assert 15_000 <= first < 32_000
    assert step_port({**SRUN, "MASTER_PORT": "29500"}) == 29500


def test_the_interface_that_leads_there() -> None:
    assert places.interface_to("127.0.0.1") in ("lo", "lo0")
    assert places.address_of(places.interface_to("127.0.0.1")) == "127.0.0.1"
    with pytest.raises(ValueError, match=r"no network interface 'ib7'.*there are"):
        places.address_of("ib7")


def test_the_first_node_is_asked_of_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"hostnames": "n1\nn2\n", "node": "NodeName=n1 NodeAddr=10.0.0.5 Port=1\n"}
    monkeypatch.setattr(places, "asked", lambda *command: answers[command[2]])
    assert places.first_address(SRUN) == "10.0.0.5"
    assert places.first_address({**SRUN, "MASTER_ADDR": "head"}) == "head"
    assert places.first_address({}) == "127.0.0.1"


def test_what_brings_a_function_to_its_rank_is_no_frame_of_the_users() -> None:
    for name in ("real", "cluster/member", "cluster/run", "servers/real", "slurm/site"):
        assert is_engine(f"{ENGINES}/{name}.py")
    assert not is_engine(f"{ENGINES}/../lessons/parameter_servers/experiments/train.py")
    assert not is_engine("train.py")
