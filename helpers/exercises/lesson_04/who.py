"""Exercise 04.6, which rank a process is.

The claim: right under torchrun, under horovodrun, with TF_CONFIG (a chief first, then the workers;
parameter servers are no ranks) and under none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from helpers.algorithms.devices.framework_steps import who_am_i as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import describe, number
from helpers.exercises.drives.calling import plain_call
from helpers.exercises.spec import Case, Exercise, Mistake, Observation
from helpers.exercises.table import wrong_answers


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
            f"the answer was {describe((rank, size))}; this is rank {facts['rank']} of "
            f"{facts['size']}. {chief if 'TF_CONFIG' in facts['told'] else ''}".rstrip()
        )
    return None


def _whole(value: Any, want: int) -> bool:
    return type(value) is not bool and type(value) is not float and number(value) == want


def _no_launcher(case: Case, seen: Observation) -> str | None:
    if seen.trouble == "failed" and seen.kind in ("KeyError", "TypeError", "ValueError"):
        if len(case.facts["told"]) == 1:
            return (
                f"none of the variables is there ({seen.kind}): a script that is started by itself "
                "is rank 0 of 1."
            )
        if seen.kind == "KeyError" and "chief" in seen.text:
            return (
                'the cluster has no chief, which is often so: `config["cluster"].get("chief", [])`.'
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


def zero_is_none(environment: dict[str, str]) -> Any:
    rank, size = reference(environment)
    return (rank, size) if rank else (0, 1)


def its_own(environment: dict[str, str]) -> Any:
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))


_TWO_OF_ONE_NUMBER = (
    "worker {index} called itself rank {rank}: the chief is rank 0, so two would have one number. "
    "A worker beside a chief is rank index + 1."
)
WRONG = """
texts
    | int(environment[ *=> (str if rank == "RANK" else int)(environment[
    the answer was {answer!r}, which are texts: all of an environment is text. Make whole numbers of
    them, or rank == 0 is never true.
number on its machine
    | "RANK" => "LOCAL_RANK"
    | "HOROVOD_RANK" => "HOROVOD_LOCAL_RANK"
    the answer was rank {rank}, which is {local_rank}: the number on its own machine, for choosing a
    GPU. Every machine has a 0 of those.
local size
    | "WORLD_SIZE" => "LOCAL_WORLD_SIZE"
    | "HOROVOD_SIZE" => "HOROVOD_LOCAL_SIZE"
    {local_size} counts one machine's ranks, not the world's.
counts the servers
    | chiefs + workers => sum(map(len, config["cluster"].values()))
    the world size was {size}: {servers} of these are parameter servers, which train nothing and
    take part in no all-reduce.
counts the jobs
    | + (chiefs if task["type"] == "worker" else 0) =>
    | chiefs + workers => len(config["cluster"])
    the world size was {size}, the number of jobs in the cluster: each job is a list with an address
    for each of its tasks.
takes the chief's rank
    | + (chiefs if task["type"] == "worker" else 0) =>
    ! two_of_one_number
forgets the chief
    | + (chiefs if task["type"] == "worker" else 0) =>
    | chiefs + workers => workers
    ! two_of_one_number
no chief
    | chiefs + workers => workers
    the world size was {size}: the chief trains too: add it.
in TF_CONFIG's order
    | return task["index"] + (chiefs if task["type"] == "worker" else 0), chiefs + workers
        => jobs = [job for job, hosts in config["cluster"].items() if job != "ps" for _ in hosts];
        return jobs.index(task["type"]) + task["index"], len(jobs)
    the chief called itself rank {rank}: it is rank 0, wherever TF_CONFIG lists it. The jobs of a
    cluster stand there in any order.
rank 0 is no rank
    = zero_is_none
    the answer was (0, 1), as without a launcher, and {launcher} is there: rank 0 is a rank, though
    `if rank:` is false for it. Ask whether the variable is there, `if "{launcher}" in environment`.
a chief always
    | .get(kind, ()) => [kind]
    ? which is often so
does not read the argument
    = its_own
    the answer was (0, 1), as without a launcher: you did not read {launcher} in the argument. It is
    in `environment`, which need not be this process's `os.environ`.
torchrun alone
    | if rank in environment: return => return
    ? which launcher it was
no JSON
    | json.loads(environment["TF_CONFIG"]) => environment["TF_CONFIG"]
    ? is a text in JSON
never alone
    | if "TF_CONFIG" not in environment: return 0, 1 =>
    ? rank 0 of 1
"""

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
    wrong=wrong_answers(
        "04.6", WRONG, reference, zero_is_none, its_own, two_of_one_number=_TWO_OF_ONE_NUMBER
    ),
    ranked=False,
)
