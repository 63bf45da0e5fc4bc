"""Exercise 04.6, which rank a process is.

The claim: right under torchrun, under horovodrun, with TF_CONFIG (a chief first, then the workers;
parameter servers are no ranks) and under none.
"""

import json
from typing import Any

from helpers.checks.compare import describe, number
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.frameworks.algorithms.framework_steps import who_am_i as reference

_LAUNCHERS = {
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"),
    "horovodrun": tuple(
        f"HOROVOD_{each}" for each in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK")
    ),
}


def cases(seed: int) -> list[Case]:
    """Each launcher, workers and a chief of TF_CONFIG, parameter servers beside them, and alone."""
    random, made = rng(seed, "04.6"), []

    def some() -> tuple[int, int, int]:
        """Rank, world size and ranks a machine: two machines or more."""
        each = int(random.integers(2, 5)) if seed else 2
        size = each * (int(random.integers(2, 5)) if seed else 3)
        return int(random.integers(each, size)) if seed else 4, size, each

    for launcher, names in _LAUNCHERS.items():
        drawn, size, each = some()
        for name, rank in (("Under", drawn), ("As rank 0 under", 0)):
            numbers = (rank, size, rank % each, each, rank // each)
            told = dict(zip(names, map(str, numbers), strict=True))
            made.append(_case(f"{name} {launcher}", told, rank, size))
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
    return [*made, _case("Without a launcher", {}, 0, 1)]


def _case(name: str, told: dict[str, str], rank: int, size: int) -> Case:
    environment = {"HOME": "/home/ada", **told}
    return Case(name, ((environment,),), facts={"rank": rank, "size": size})


def _tf(name: str, jobs: dict[str, int], kind: str, index: int, rank: int, size: int) -> Case:
    cluster = {job: [f"node{i}.example:{2222 + i}" for i in range(n)] for job, n in jobs.items()}
    told = {"cluster": cluster, "task": {"type": kind, "index": index}}
    return _case(name, {"TF_CONFIG": json.dumps(told)}, rank, size)


def claim(case: Case, seen: Observation) -> str | None:
    """Rank and size, as whole numbers; and the environment as it was."""
    found, facts = returned(seen.values[0]), case.facts
    if not _is_pair(found):
        return f"the answer was {describe(found)}; return two numbers, rank and world size."
    rank, size = found
    if type(rank) is type(size) is float:
        return f"the answer was ({rank}, {size}): make whole numbers of texts, `int(…)`, no floats."
    if [*map(_whole, found)] == [facts["rank"], facts["size"]]:
        return _changed(case, seen)
    chief = " A chief, where there is one, is rank 0; the workers follow it, as numbered."
    return (
        f"the answer was {describe((rank, size))}; this is rank {facts['rank']} of "
        f"{facts['size']}.{chief if 'TF_CONFIG' in case.args[0][0] else ''}"
    )


def _is_pair(found: Any) -> bool:
    return type(found) in (list, tuple) and len(found) == 2


def _changed(case: Case, seen: Observation) -> str | None:
    if changed(seen.values[0]) is None:
        return None
    return (
        "the environment is another one afterwards, and whoever asks next finds nothing in it: "
        "read it, `environment[…]` or `environment.get(…)`, and take nothing out."
    )


def _whole(value: Any) -> float | None:
    return None if type(value) is float else number(value)


def _no_launcher(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or seen.kind not in ("KeyError", "TypeError", "ValueError"):
        return None
    if len(case.args[0][0]) == 1:
        return (
            f"none of the variables is there ({seen.kind}): a script that is started by itself "
            "is rank 0 of 1."
        )
    if seen.kind == "KeyError" and "chief" in seen.text:
        return 'the cluster has no chief, which is often so: `config["cluster"].get("chief", [])`.'
    why = (
        "TF_CONFIG is a text in JSON (`json.loads`): the numbers of tasks are in "
        '`config["cluster"]`, this one\'s place is in `config["task"]`.'
    )
    if any(name in seen.text for name in ("RANK", "SIZE", "HOROVOD", "TF_CONFIG", "NoneType")):
        why = 'Look first which launcher it was: `if "RANK" in environment`.'
    return f"{case.name}, {seen.kind}: {seen.text}. {why}"


def compared(case: Case, seen: Observation) -> Any:
    """The numbers, in whatever they are."""
    found = returned(seen.values[0])
    if not _is_pair(found):
        return "no pair"
    return "texts" if any(isinstance(each, str) for each in found) else [*map(number, found)]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    (told,), found = case.args[0], returned(seen.values[0])
    rank, size = found if _is_pair(found) else (None, None)
    config = json.loads(told.get("TF_CONFIG", '{"cluster": {}, "task": {"index": null}}'))
    names = _LAUNCHERS["horovodrun" if "HOROVOD_RANK" in told else "torchrun"]
    return {
        "answer": (rank, size),
        "rank": rank,
        "size": size,
        "launcher": "TF_CONFIG" if "TF_CONFIG" in told else names[0] if names[0] in told else "",
        "local_rank": names[2],
        "local_size": names[3],
        "index": config["task"]["index"],
        "servers": len(config["cluster"].get("ps", ())),
    }


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
    worker {index} called itself rank {rank}: the chief is rank 0, so two would have one number. A
    worker beside a chief is rank index + 1.
forgets the chief
    | + (chiefs if task["type"] == "worker" else 0) =>
    | chiefs + workers => workers
    ! takes the chief's rank
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
    | if rank in environment: => if int(environment.get(rank, 0)):
    | return task["index"] + (chiefs if task["type"] == "worker" else 0), chiefs + workers
        => place = task["index"] + (chiefs if task["type"] == "worker" else 0);
        return (place, chiefs + workers) if place else (0, 1)
    the answer was (0, 1), as without a launcher, and {launcher} is there: rank 0 is a rank, though
    `if rank:` is false for it. Ask whether the variable is there, `if "{launcher}" in environment`.
a chief always
    | .get(kind, ()) => [kind]
    ? which is often so
does not read the argument
    | environment: Mapping[str, str]) => given: Any, environment: Any = __import__("os").environ)
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
takes it out
    | int(environment[rank]), int(environment[size])
        => int(environment.pop(rank)), int(environment.pop(size))
    ? another one afterwards
"""

EXERCISE = Exercise(
    number="04.6",
    title="Who am I?",
    size=Size(stars=1, minutes=10, points=2),
    function="who_am_i",
    asks=(
        "rank and world size as whole numbers, from what torchrun, horovodrun or TF_CONFIG put "
        "into the environment; (0, 1) without them."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=(
        Mistake("does not look which launcher it was", _no_launcher, unfinished=True),
        Mistake("changes the environment", _changed),
    ),
    numbers=numbers,
    compared=compared,
    praise="Passed under torchrun, horovodrun, TF_CONFIG, and alone.",
    reference=reference,
    wrong=wrong_answers("04.6", WRONG, reference),
    ranked=False,
)
