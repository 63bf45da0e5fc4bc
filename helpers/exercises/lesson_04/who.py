"""Exercise 04.6, which rank a process is.

`who_am_i(environment) -> (rank, size)` to write. The claim: right under torchrun, under horovodrun,
with TF_CONFIG (a chief first, then the workers; parameter servers are no ranks) and under none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import describe, number
from helpers.exercises.drives import plain_call
from helpers.exercises.lesson_04 import who_wrong as wrong
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
    rank, size, each = some()
    horovod = {"HOROVOD_RANK": rank, "HOROVOD_SIZE": size, "HOROVOD_LOCAL_RANK": rank % each}
    horovod |= {"HOROVOD_LOCAL_SIZE": each, "HOROVOD_CROSS_RANK": rank // each}
    made.append(_case("Under horovodrun", horovod, rank, size))
    rank, size, _ = some()
    made.append(_tf("With TF_CONFIG", {"worker": size}, "worker", rank, rank, size))
    rank, size, servers = some()
    jobs = {"worker": size, "ps": servers}
    made.append(_tf("With TF_CONFIG and servers", jobs, "worker", rank, rank, size))
    rank, size, _ = some()
    jobs = {"chief": 1, "worker": size}
    made.append(_tf("As a worker beside a chief", jobs, "worker", rank, rank + 1, size + 1))
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
        return (
            f"{case.name}, the answer was {describe((rank, size))}; this is rank {facts['rank']} "
            f"of {facts['size']}."
        )
    return None


def _whole(value: Any, want: int) -> bool:
    return type(value) is not bool and type(value) is not float and number(value) == want


def _got(seen: Observation) -> tuple[float | None, float | None]:
    rank, size = seen.values[0]
    return number(rank), number(size)


def _text(case: Case, seen: Observation) -> str | None:
    rank, size = seen.values[0]
    if not isinstance(rank, str) and not isinstance(size, str):
        return None
    return (
        f"{case.name}, the answer was {(rank, size)!r}, which are texts: all of an environment is "
        "text. Make whole numbers of them, or rank == 0 is never true."
    )


def _unread(case: Case, seen: Observation) -> str | None:
    names = [name for name in ("RANK", "HOROVOD_RANK", "TF_CONFIG") if name in case.facts["told"]]
    if not names or _got(seen) != (0, 1):
        return None
    return (
        f"{case.name}, the answer was (0, 1), as without a launcher: you did not read {names[0]} "
        "in the argument. It is in `environment`, which need not be this process's `os.environ`."
    )


def _local(case: Case, seen: Observation) -> str | None:
    told, (rank, size) = case.facts["told"], _got(seen)
    for local in ("LOCAL_RANK", "HOROVOD_LOCAL_RANK"):
        if local in told and rank == int(told[local]):
            return (
                f"{case.name}, the answer was rank {rank:.0f}, which is {local}: the number on its "
                "own machine, for choosing a GPU. Every machine has a 0 of those."
            )
    for local in ("LOCAL_WORLD_SIZE", "HOROVOD_LOCAL_SIZE"):
        if local in told and size == int(told[local]):
            return f"{case.name}, {local} counts the ranks of one machine, not of the world."
    return None


def _config(case: Case) -> tuple[dict[str, int], str, int] | None:
    if "TF_CONFIG" not in case.facts["told"]:
        return None
    told = json.loads(case.facts["told"]["TF_CONFIG"])
    jobs = {job: len(addresses) for job, addresses in told["cluster"].items()}
    return jobs, told["task"]["type"], told["task"]["index"]


def _servers(case: Case, seen: Observation) -> str | None:
    config, (_, size) = _config(case), _got(seen)
    if config is None or "ps" not in config[0] or size != sum(config[0].values()):
        return None
    return (
        f"{case.name}, the world size was {size:.0f}: {config[0]['ps']} of these are parameter "
        "servers, which train nothing and take part in no all-reduce."
    )


def _jobs(case: Case, seen: Observation) -> str | None:
    config, (_, size) = _config(case), _got(seen)
    if config is None or size != len(config[0]):
        return None
    return (
        f"{case.name}, the world size was {size:.0f}, the number of jobs in the cluster: each job "
        "is a list with an address for each of its tasks."
    )


def _chief(case: Case, seen: Observation) -> str | None:
    config, (rank, size) = _config(case), _got(seen)
    if config is None or "chief" not in config[0]:
        return None
    if config[1] == "worker" and rank == config[2]:
        return (
            f"{case.name}, worker {config[2]} called itself rank {rank:.0f}: the chief is rank 0, "
            "so two would have one number. A worker beside a chief is rank index + 1."
        )
    if size == config[0]["worker"]:
        return f"{case.name}, the world size was {size:.0f}: the chief trains too, so add it."
    return None


def _no_launcher(case: Case, seen: Observation) -> str | None:
    if seen.trouble == "failed" and seen.kind in ("KeyError", "TypeError", "ValueError"):
        if len(case.facts["told"]) == 1:
            return (
                f"{case.name}, none of the variables is there ({seen.kind}): a script that is "
                "started by itself is rank 0 of 1."
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


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return "Passed under torchrun, horovodrun, TF_CONFIG, and alone."


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
    mistakes=(
        Mistake("does not look which launcher it was", _no_launcher, unfinished=True),
        Mistake("texts", _text),
        Mistake("does not read the argument", _unread),
        Mistake("number on its machine", _local),
        Mistake("counts the servers", _servers),
        Mistake("counts the jobs", _jobs),
        Mistake("chief", _chief),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("texts", wrong.texts, hint="which are texts"),
        WrongAnswer("local rank", wrong.local, hint="the number on its own machine"),
        WrongAnswer("counts the servers", wrong.servers, hint="which train nothing"),
        WrongAnswer("counts the jobs", wrong.jobs, hint="the number of jobs"),
        WrongAnswer("forgets the chief", wrong.no_chief, hint="two would have one number"),
        WrongAnswer("size without the chief", wrong.size_alone, hint="the chief trains too"),
        WrongAnswer("a chief always", wrong.chief_always, hint="which is often so"),
        WrongAnswer("its own environment", wrong.own, hint="in the argument"),
        WrongAnswer("torchrun alone", wrong.torchrun_alone, hint="which launcher it was"),
        WrongAnswer("never alone", wrong.never_alone, hint="rank 0 of 1"),
    ),
    ranked=False,
)
