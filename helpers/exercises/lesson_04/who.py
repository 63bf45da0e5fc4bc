"""Exercise 04.6, which rank a process is.

The claim: right under torchrun, under horovodrun, with TF_CONFIG (a chief first, then the workers;
parameter servers are no ranks) and under none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from helpers.algorithms.devices.framework_steps import who_am_i as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import describe, number
from helpers.exercises.drives import plain_call
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Each launcher, workers and a chief of TF_CONFIG, parameter servers beside them, and alone."""
    random = rng(seed, "04.6")

    def some() -> tuple[int, int, int]:
        """Rank, world size and ranks a machine: two machines or more."""
        each = int(random.integers(2, 5)) if seed else 2
        size = each * (int(random.integers(2, 5)) if seed else 3)
        return int(random.integers(each, size)) if seed else 4, size, each

    rank, size, each = some()
    torchrun = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank % each}
    torchrun |= {"LOCAL_WORLD_SIZE": each, "GROUP_RANK": rank // each}
    made = [_case("Under torchrun", torchrun, rank, size)]
    torchrun |= {"RANK": 0, "LOCAL_RANK": 0, "GROUP_RANK": 0}
    made.append(_case("As rank 0 under torchrun", torchrun, 0, size))
    rank, size, each = some()
    horovod = {"HOROVOD_RANK": rank, "HOROVOD_SIZE": size, "HOROVOD_LOCAL_RANK": rank % each}
    horovod |= {"HOROVOD_LOCAL_SIZE": each, "HOROVOD_CROSS_RANK": rank // each}
    made.append(_case("Under horovodrun", horovod, rank, size))
    horovod |= {"HOROVOD_RANK": 0, "HOROVOD_LOCAL_RANK": 0, "HOROVOD_CROSS_RANK": 0}
    made.append(_case("As rank 0 under horovodrun", horovod, 0, size))
    rank, size, _ = some()
    made.append(_tf("With TF_CONFIG", {"worker": size}, "worker", rank, rank, size))
    rank, size, servers = some()
    jobs = {"worker": size, "ps": servers}
    made.append(_tf("With TF_CONFIG and servers", jobs, "worker", rank, rank, size))
    rank, size, _ = some()
    jobs = {"chief": 1, "worker": size}
    made.append(_tf("As a worker beside a chief", jobs, "worker", rank, rank + 1, size + 1))
    jobs = {"ps": 1, "worker": size, "chief": 1}  # in any order
    made.append(_tf("As the chief", jobs, "chief", 0, 0, size + 1))
    made.append(_case("Without a launcher", {}, 0, 1))
    return made


def _case(name: str, told: dict[str, Any], rank: int, size: int) -> Case:
    environment = {"HOME": "/home/ada", **{key: str(value) for key, value in told.items()}}
    return Case(name, ((environment,),), facts={"rank": rank, "size": size, "told": environment})


def _tf(name: str, jobs: dict[str, int], kind: str, index: int, rank: int, size: int) -> Case:
    cluster = {
        job: [f"node{n}.example:{2222 + n}" for n in range(count)] for job, count in jobs.items()
    }
    told = {"cluster": cluster, "task": {"type": kind, "index": index}}
    return _case(name, {"TF_CONFIG": json.dumps(told)}, rank, size)


def claim(case: Case, seen: Observation) -> str | None:
    """Rank and size, as whole numbers."""
    rank, size = seen.values[0]
    facts = case.facts
    if not _whole(rank, facts["rank"]) or not _whole(size, facts["size"]):
        chief = "A chief, where there is one, is rank 0; the workers follow it, as numbered. "
        return (
            f"{case.name}, the answer was {describe((rank, size))}; this is rank {facts['rank']} "
            f"of {facts['size']}. {chief if 'TF_CONFIG' in facts['told'] else ''}".rstrip()
        )
    return None


def _whole(value: Any, want: int) -> bool:
    return type(value) is not bool and type(value) is not float and number(value) == want


def _no_launcher(case: Case, seen: Observation) -> str | None:
    if seen.trouble == "failed" and seen.kind in ("KeyError", "TypeError", "ValueError"):
        if len(case.facts["told"]) == 1:
            return (
                f"{case.name}, none of the variables is there ({seen.kind}): a script "
                "that is started by itself is rank 0 of 1."
            )
        if seen.kind == "KeyError" and "chief" in seen.text:
            return (
                f"{case.name}, the cluster has no chief, which is often so: "
                '`config["cluster"].get("chief", [])`.'
            )
        names = ("RANK", "SIZE", "HOROVOD", "TF_CONFIG", "NoneType")
        if any(name in seen.text for name in names):
            why = 'Look first which launcher it was: `if "RANK" in environment`.'
        else:
            why = (
                "TF_CONFIG is a text in JSON (`json.loads`): the numbers of tasks are in "
                '`config["cluster"]`, this one\'s place is in `config["task"]`.'
            )
        return f"{case.name}, {seen.kind}: {seen.text}. {why}"
    return None


def _local(told: Mapping[str, str]) -> tuple[str, str]:
    """What says the rank on its machine, and how many there are."""
    if "HOROVOD_RANK" in told:
        return "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE"
    return "LOCAL_RANK", "LOCAL_WORLD_SIZE"


def compared(case: Case, seen: Observation) -> Any:
    """The numbers, in whatever they are."""
    found = list(seen.values[0])
    return "texts" if any(isinstance(each, str) for each in found) else [*map(number, found)]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    told, (rank, size) = case.facts["told"], seen.values[0]
    config = json.loads(told.get("TF_CONFIG", "{}"))
    launcher = [name for name in ("RANK", "HOROVOD_RANK", "TF_CONFIG") if name in told]
    local_rank, local_size = _local(told)
    return {
        "answer": (rank, size),
        "rank": rank,
        "size": size,
        "launcher": launcher[0] if launcher else "",
        "local_rank": local_rank,
        "local_size": local_size,
        "index": config["task"]["index"] if config else None,
        "servers": len(config["cluster"].get("ps", ())) if config else None,
    }


def _by_launcher(local_rank: bool, local_size: bool) -> Callable[[dict[str, str]], Any]:
    """The reference with the rank, or the ranks, of one machine under torchrun and horovodrun."""

    def who_am_i(environment: dict[str, str]) -> Any:
        rank, size = reference(environment)
        here = _local(environment)
        if local_rank and here[0] in environment:
            rank = int(environment[here[0]])
        if local_size and here[1] in environment:
            size = int(environment[here[1]])
        return rank, size

    return who_am_i


def _by_config(change: Callable[[dict[str, Any], int, int, int], Any]) -> Callable[..., Any]:
    """The reference where TF_CONFIG is read otherwise. change: makes the answer of the cluster, of
    this task's index, and of rank and size."""

    def who_am_i(environment: dict[str, str]) -> Any:
        rank, size = reference(environment)
        if "TF_CONFIG" not in environment:
            return rank, size
        told = json.loads(environment["TF_CONFIG"])
        return change(told["cluster"], told["task"]["index"], rank, size)

    return who_am_i


_local_rank = _by_launcher(True, False)
_local_size = _by_launcher(False, True)
_servers = _by_config(lambda cluster, index, rank, size: (rank, sum(map(len, cluster.values()))))
_jobs = _by_config(lambda cluster, index, rank, size: (index, len(cluster)))
_no_chief = _by_config(lambda cluster, index, rank, size: (index, size))
_workers_alone = _by_config(lambda cluster, index, rank, size: (index, len(cluster["worker"])))
_size_alone = _by_config(lambda cluster, index, rank, size: (rank, len(cluster["worker"])))
_chief_always = _by_config(lambda cluster, index, rank, size: cluster["chief"] and (rank, size))


def _in_its_order(environment: dict[str, str]) -> Any:
    if "TF_CONFIG" not in environment:
        return reference(environment)
    told = json.loads(environment["TF_CONFIG"])
    jobs = told["cluster"].items()
    tasks = [(job, i) for job, hosts in jobs if job != "ps" for i in range(len(hosts))]
    return tasks.index((told["task"]["type"], told["task"]["index"])), len(tasks)


_TWO_OF_ONE_NUMBER = (
    "worker {index} called itself rank {rank}: the chief is rank 0, so two would have one number. "
    "A worker beside a chief is rank index + 1."
)


def _zero_is_none(environment: dict[str, str]) -> Any:
    rank, size = reference(environment)
    return (rank, size) if rank else (0, 1)


def _texts(environment: dict[str, str]) -> Any:
    if "RANK" in environment:
        return environment["RANK"], environment["WORLD_SIZE"]
    return reference(environment)


def _its_own(environment: dict[str, str]) -> Any:
    import os

    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


def _torchrun_alone(environment: dict[str, str]) -> Any:
    return int(environment["RANK"]), int(environment["WORLD_SIZE"])


def _no_json(environment: dict[str, Any]) -> Any:
    if "TF_CONFIG" in environment:
        return environment["TF_CONFIG"]["task"]["index"]
    return reference(environment)


def _never_alone(environment: dict[str, str]) -> Any:
    if "RANK" not in environment and "HOROVOD_RANK" not in environment:
        json.loads(environment["TF_CONFIG"])
    return reference(environment)


EXERCISE = Exercise(
    number="04.6",
    title="Who am I?",
    stars=1,
    minutes=10,
    points=2,
    function="who_am_i",
    asks=(
        "rank and world size as whole numbers, from what torchrun, horovodrun or TF_CONFIG put "
        "into the environment; (0, 1) without them."
    ),
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(Mistake("does not look which launcher it was", _no_launcher, unfinished=True),),
    numbers=numbers,
    compared=compared,
    praise="Passed under torchrun, horovodrun, TF_CONFIG, and alone.",
    reference=reference,
    wrong=(
        WrongAnswer(
            "texts",
            _texts,
            "the answer was {answer!r}, which are texts: all of an environment is text. Make whole "
            "numbers of them, or rank == 0 is never true.",
        ),
        WrongAnswer(
            "number on its machine",
            _local_rank,
            "the answer was rank {rank}, which is {local_rank}: the number on its own machine, for "
            "choosing a GPU. Every machine has a 0 of those.",
        ),
        WrongAnswer(
            "local size", _local_size, "{local_size} counts one machine's ranks, not the world's."
        ),
        WrongAnswer(
            "counts the servers",
            _servers,
            "the world size was {size}: {servers} of these are parameter servers, which train "
            "nothing and take part in no all-reduce.",
        ),
        WrongAnswer(
            "counts the jobs",
            _jobs,
            "the world size was {size}, the number of jobs in the cluster: each job is a list with "
            "an address for each of its tasks.",
        ),
        WrongAnswer("takes the chief's rank", _no_chief, _TWO_OF_ONE_NUMBER),
        WrongAnswer("forgets the chief", _workers_alone, _TWO_OF_ONE_NUMBER),
        WrongAnswer(
            "no chief", _size_alone, "the world size was {size}: the chief trains too: add it."
        ),
        WrongAnswer(
            "in TF_CONFIG's order",
            _in_its_order,
            "the chief called itself rank {rank}: it is rank 0, wherever TF_CONFIG lists it. The "
            "jobs of a cluster stand there in any order.",
        ),
        WrongAnswer(
            "rank 0 is no rank",
            _zero_is_none,
            "the answer was (0, 1), as without a launcher, and {launcher} is there: rank 0 is a "
            "rank, though `if rank:` is false for it. Ask whether the variable is there, "
            '`if "{launcher}" in environment`.',
        ),
        WrongAnswer("a chief always", _chief_always, hint="which is often so"),
        WrongAnswer(
            "does not read the argument",
            _its_own,
            "the answer was (0, 1), as without a launcher: you did not read {launcher} in the "
            "argument. It is in `environment`, which need not be this process's `os.environ`.",
        ),
        WrongAnswer("torchrun alone", _torchrun_alone, hint="which launcher it was"),
        WrongAnswer("no JSON", _no_json, hint="is a text in JSON"),
        WrongAnswer("never alone", _never_alone, hint="rank 0 of 1"),
    ),
    ranked=False,
)
