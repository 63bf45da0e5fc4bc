"""Exercise 17.5, which rank a process is, whoever started it.

`rank_in(environ) -> (rank, size, local rank)`, None outside a job. The claim: these numbers, of the
first launcher of horovodrun, torchrun, ibrun and srun of whom there is a rank; no rank for a job's
batch script; the variables stay as they are. What makes this file large are 33 wrong answers.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from helpers.checks.compare import describe, is_array, listing, number
from helpers.checks.drives.requests import changed, returned
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.cluster.algorithms.environment import rank_in as reference
from helpers.lessons.cluster.exercises.launchers import (
    NAMES,
    Named,
    in_environment,
    told_by,
    unlike_nodes,
)

_SHELL = {"HOME": "/home/ada", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "4", "SHLVL": "2"}


def cases(seed: int) -> list[Case]:
    """Seed 0: each launcher, a batch script, a shell, launchers inside others, what somebody has
    exported, no local rank, also beside another's, nothing but what is needed, on nodes of 2, 4
    and 7 ranks; rank 0, and a job of one. Other seeds: nodes of other sizes."""
    random = rng(seed, "17.5")
    n, first = unlike_nodes(random if seed else None)
    agent = n | {"rank": n["node"], "local": 0, "beside": 1, "size": n["nodes"]}
    around = agent | {"local": n["local"]}
    one = {name: 0 for name in n} | {"size": 1, "nodes": 1, "beside": 1, "asked": 1}

    def of(launcher: str, *what: str) -> dict[str, int]:
        return {getattr(NAMES[launcher], each): n[each] for each in what}

    no_local = {name: its for name, its in n.items() if name != "local"}
    step = f"Under srun, for {n['size']} of the job's {n['asked']} tasks"
    kinds: list[tuple[str, dict[str, dict[str, Any]]]] = [
        ("Under torchrun", {"torchrun": n}),
        ("Under horovodrun", {"horovodrun": n}),
        (step, {"srun": n}),
        ("Under ibrun", {"batch": n, "ibrun": n}),
        ("In a job's batch script", {"batch": n}),
        ("In a shell outside any job", {}),
        ("Under torchrun inside srun", {"srun": agent, "torchrun": n}),
        ("Under horovodrun inside srun --pty", {"srun": one, "horovodrun": n}),
        ("Under ibrun inside srun --pty", {"srun": one, "ibrun": n}),
        ("Under horovodrun inside torchrun", {"torchrun": agent, "horovodrun": n}),
        ("Under srun, with a RANK that somebody has exported",
         {"srun": n, "exported": {"RANK": n["rank"] + 1, "WORLD_SIZE": n["size"] + 1}}),
        ("Under ibrun without MPI_LOCALRANKID", {"batch": n, "ibrun": no_local}),
        ("Under torchrun inside srun, without LOCAL_RANK", {"srun": around, "torchrun": no_local}),
        ("Under horovodrun inside torchrun, without HOROVOD_LOCAL_RANK",
         {"srun": around, "torchrun": around, "horovodrun": no_local}),
        ("Under ibrun inside srun, without MPI_LOCALRANKID", {"srun": around, "ibrun": no_local}),
        ("Under srun without SLURM_LOCALID, with a LOCAL_RANK that somebody has exported",
         {"srun": n, "exported": {"LOCAL_RANK": n["local"], "SLURM_LOCALID": None}}),
        ("With srun's three variables and no other", {"only": of("srun", "rank", "size", "local")}),
        ("With ibrun's two variables and no other", {"only": of("ibrun", "rank", "size")}),
        ("As rank 0 under srun", {"srun": first}),
        ("As rank 0 under torchrun", {"torchrun": first}),
        ("As the only rank under srun", {"srun": one}),
        ("As the only rank under torchrun", {"torchrun": one}),
    ]  # fmt: skip
    made = []
    for name, launchers in kinds:
        told: dict[str, Any] = dict(_SHELL)
        for launcher, its in launchers.items():
            more = told_by(launcher, its) if launcher in (*NAMES, "batch") else its
            told = more if launcher == "only" else told | more
        # Sorted: nothing can be read off from the order. None takes a variable out.
        environ = {key: str(value) for key, value in sorted(told.items()) if value is not None}
        there = (each for each, its in _in_order() if {its.rank, its.sure} <= environ.keys())
        facts = {"want": reference(environ), "launcher": next(there, "srun")}
        made.append(Case(name, ((environ,),), facts=facts))
    return made


def _in_order() -> list[tuple[str, Named]]:
    """The launchers, the nearest to a process first."""
    return [(name, NAMES[name]) for name in ("horovodrun", "torchrun", "ibrun", "srun")]


def claim(case: Case, seen: Observation) -> str | None:
    """Three whole numbers or None, and the variables as they were."""
    value, want = seen.values[0], case.facts["want"]
    got = returned(value)
    if not (got is None if want is None else _whole(got) and list(map(number, got)) == [*want]):
        asked = f"this is {_place(want)}" if want else "this is no rank of a job: None"
        return f"you say {describe(got)}; {asked}."
    return changes_it(case, seen)


def _place(want: tuple[int, int, int]) -> str:
    rank, size, local = want
    return f"rank {rank} of {size}, number {local} on its node: {want}"


def _whole(got: Any) -> bool:
    """Whether these are three whole numbers."""
    if type(got) not in (tuple, list) or len(got) != 3:
        return False
    return all(type(each) is int or (is_array(each) and each.dtype.kind in "iu") for each in got)


def changes_it(case: Case, seen: Observation) -> str | None:
    """Variables that were set, changed or taken out."""
    if changed(seen.values[0]) is None:
        return None
    names = [each for each in seen.values[0]["names"] if type(each) is str]
    return (
        f"you changed {listing(names)} in `environ`, which may be the environment of this very "
        "process, and of all that it starts. Read it, with `environ.get(name)` or `name in "
        "environ`."
    )


def floats(case: Case, seen: Observation) -> str | None:
    """The right numbers in floats."""
    given, want = compared(case, seen), case.facts["want"]
    if want is None or type(given) is not list or given != [*want]:
        return None
    first = given[0]
    return (
        f"you say ({', '.join(map(repr, given))}), and {first!r} is no whole number: neither "
        f"`range({first!r})` nor `ranks[{first!r}]` takes it. Make it with `int`."
    )


def no_local(case: Case, seen: Observation) -> Iterator[str]:
    """A local rank that nobody has told."""
    want, local = case.facts["want"], NAMES[case.facts["launcher"]].local
    if want is None or local in case.args[0][0]:
        return
    there_is = "a local rank that its launcher does not say is 0: `environ.get(name, 0)`"
    got: Any = returned(seen.values[0]) if seen.values else None
    none = seen.kind == "TypeError" and "NoneType" in seen.text
    if none or (seen.kind == "KeyError" and seen.text.strip("'\"") == local):
        yield f"you ask for {local} ({seen.kind}); {there_is}."
    elif type(got) in (tuple, list) and [*got[:2]] == [*want[:2]]:
        yield f"you say {describe(got)} instead of {want}; {there_is}."


def not_there(case: Case, seen: Observation) -> Iterator[str]:
    """A variable was asked for that another launcher sets."""
    name = seen.text.strip("'\"")
    if seen.kind == "KeyError" and name in case.args[0][0]:
        yield (
            f"you did not find {name} (KeyError), and it is in the argument: read `environ`, not "
            "this process's `os.environ`."
        )
    if seen.kind == "KeyError":
        what = f"there is no {name} (KeyError)"
    elif seen.kind == "TypeError" and "NoneType" in seen.text:
        what = "a variable that you make a number of is not there (TypeError: int of None)"
    else:
        return
    environ = case.args[0][0]
    if case.facts["want"] is None and "SLURM_PROCID" in environ:
        yield (
            f"{what}: the batch script is no rank, though it has SLURM_PROCID. Return None where "
            "no SLURM_STEP_NUM_TASKS is there either."
        )
    if name == NAMES["torchrun"].local and "MASTER_ADDR" not in environ and "RANK" in environ:
        yield f"{what}, and no MASTER_ADDR: somebody else has exported RANK. Ask for both names."
    if case.facts["want"] is None:
        yield (
            f"{what}: nobody started this as a rank of a job. Return None where no launcher's "
            "variables are there."
        )
    yield (
        f"{what}: each launcher sets its own variables. Ask first which of them are there, `if "
        "name in environ`."
    )


def compared(case: Case, seen: Observation) -> Any:
    """The numbers, in whatever holds them; texts stay texts."""
    got = returned(seen.values[0])
    if type(got) not in (tuple, list):
        return got
    return [each if type(each) is str else number(each) for each in got]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    want, got = case.facts["want"], returned(seen.values[0])
    named = NAMES[case.facts["launcher"]]
    rank, size, local = want or (None, None, None)
    its = dict.fromkeys(("its_rank", "its_size", "its_local"))
    return {
        **{"got": describe(got), "want": describe(want), "rank": rank, "size": size},
        **{"local": local, "RANK": named.rank, "SIZE": named.size, "LOCAL": named.local},
        **{"NODE": named.node, "BESIDE": named.beside},
        **its | dict(zip(its, got or (), strict=False)),
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    rank, size, local = cases[0].facts["want"]
    return (
        f"Passed: rank {rank} of {size}, number {local} on its node, whether torchrun, horovodrun, "
        "srun or ibrun started it, or one of them inside another; and the batch script is no rank."
    )


def by_names(environ: dict[str, str]) -> Any:
    """The reference, by the names that stand above."""
    for name in ("horovodrun", "torchrun", "ibrun", "srun"):
        named = NAMES[name]
        if named.rank in environ and named.sure in environ:
            local = environ.get(named.local, "0")
            return int(environ[named.rank]), int(environ[named.size]), int(local)
    return None


WRONG = """
sets what is missing
    | return int(environ[named.rank])
        => environ.setdefault("RANK", environ[named.rank]); environ.setdefault("LOCAL_RANK", local);
        return int(environ[named.rank])
    ? you changed LOCAL_RANK and RANK
texts
    | int( *=> (
    you say {got}, which are texts: all of an environment is text. Make whole numbers of them, with
    `int`: "10" comes before "9", and rank == 0 is never true.
no local rank
    | , int(local) =>
    you say {got}; the local rank is missing, which chooses the GPU: {LOCAL}, {local}.
the number on its node for the rank
    | environ[named.rank]) => local)
    you say rank {its_rank}, which is {LOCAL}: the number on its own node. Every node has a rank of
    that number; the one of the whole job is {RANK}.
the rank for the number on its node
    | int(local) => int(environ[named.rank])
    you say that it is number {its_local} on its node; that is its rank in the whole job. GPUs are
    counted on each node from 0: {LOCAL}, which is {local}.
the node's number
    | named.local, => named.node or named.local,
    you give {NODE} as the local rank: the number of the node among the nodes. Which one of its
    node's ranks it is says {LOCAL}.
how many for which one
    | environ.get(named.local, "0") => environ.get(named.beside, environ.get(named.local, "0"))
    you give {BESIDE} as the local rank: how many ranks are on its node. Which one of them it is
    says {LOCAL}, {local}.
the ranks of one node
    | environ[named.size] => environ.get(named.beside, environ[named.size])
    you say that there are {its_size} ranks: so many are on this node ({BESIDE}). {SIZE} counts
    those of the whole job, {size}.
the number of nodes
    | named.size => named.nodes
    you say that there are {its_size} ranks: so many nodes there are. {SIZE} is {size}.
the local rank by dividing
    | int(local) => int(environ[named.rank]) % int(environ.get(named.beside, 1))
    you work the local rank out as rank % {BESIDE}, which is {its_local}. That holds where all nodes
    have as many ranks and are filled one after the other, which nobody promises. {LOCAL} says it:
    {local}.
the local rank of four GPUs a node
    | int(local) => int(environ[named.rank]) % 4
    you work the local rank out as rank % 4, which is {its_local}. Not all nodes have four ranks.
    {LOCAL} says it: {local}.
LOCAL_RANK alone
    | named.local => "LOCAL_RANK"
    you say that it is number 0 on its node, and it is number {local}: that is called {LOCAL} here.
    LOCAL_RANK is torchrun's name.
the tasks of the job
    | named.size => named.size.replace("STEP_NUM_TASKS", "NTASKS")
    you say that there are {its_size} ranks: that is SLURM_NTASKS, what the job asked for. This step
    of it has {size} tasks, by SLURM_STEP_NUM_TASKS; whoever waits for {its_size} ranks waits for
    ever.
srun before ibrun
    | "ibrun", "srun" => "srun", "ibrun"
    you say {got}, which is the place of the shell from which ibrun was started. Go by the order of
    the table: ask for ibrun's variables before srun's.
nobody without a local rank
    | named.sure in environ => named.sure in environ and named.local in environ
    you say {got}, and this is rank {rank} of {size}; a local rank that its launcher does not say is
    0: `environ.get(name, 0)`.
ibrun is nobody
    | "ibrun", =>
    you say None, and this is rank {rank} of {size}: ibrun starts ranks by PMI, without srun. They
    are told PMI_RANK, PMI_SIZE and MPI_LOCALRANKID.
the batch script is a rank
    | named.sure in environ => (named.sure in environ or name == "srun")
    | environ[named.size] => environ.get(named.size) or environ["SLURM_NTASKS"]
    you say {got}, which SLURM_PROCID and SLURM_NTASKS say. The batch script has them too, and is no
    rank: nobody would answer it. Only what srun has started has SLURM_STEP_NUM_TASKS.
the batch script's number under ibrun
    | "ibrun", "srun" => "srun", "ibrun"
    | named.sure in environ => (named.sure in environ or name == "srun")
    | environ[named.size] => environ.get(named.size) or environ["SLURM_NTASKS"]
    you say {got}: that SLURM_PROCID is the batch script's, and all of ibrun's ranks have it. Ask
    for PMI_RANK and PMI_SIZE first; or hold SLURM_PROCID for a rank only where there is
    SLURM_STEP_NUM_TASKS as well.
alone is rank 0 of 1
    | return None => return 0, 1, 0
    you say {got}, as if a launcher had started one rank. None has: neither a shell nor a batch
    script is a rank, though the latter has SLURM_PROCID. Return None, so that whoever asks can tell
    the two apart.
srun before torchrun
    | "torchrun", "ibrun", "srun" => "srun", "torchrun", "ibrun"
    you say {got}, which is the agent's place: srun started an agent on each node, and the agent
    started the ranks. Go by the order of the table: ask for torchrun's variables before SLURM's.
torchrun before horovodrun
    | "horovodrun", "torchrun" => "torchrun", "horovodrun"
    you say {got}, which is the place of the process that started horovodrun. Go by the order of the
    table: ask for HOROVOD_RANK before RANK.
srun before horovodrun
    | "horovodrun", "torchrun", "ibrun", "srun" => "torchrun", "srun", "horovodrun", "ibrun"
    you say {got}, which is the place of the shell from which horovodrun was started. Go by the
    order of the table: ask for horovodrun's variables before SLURM's.
RANK without MASTER_ADDR
    | named.sure in environ => (named.sure in environ or name == "torchrun")
    you say {got}, by a RANK that somebody has exported. torchrun sets MASTER_ADDR as well, and it
    is not there: go on with the next launcher of the table, {want}.
one rank is no job
    | named.sure in environ => named.sure in environ and int(environ[named.size]) > 1
    you say None, and {SIZE} is there: a job of one rank is a job, and {want} its place.
rank 0 is no rank
    | named.sure in environ => named.sure in environ and int(environ[named.rank])
    you say None, and {RANK} is there: rank 0 is a rank, though `if rank:` is false for it. Ask
    whether the variable is there.
reads its own environment
    | NAMES[name] => NAMES[name]; environ = dict(MASTER_ADDR="here", RANK="0", WORLD_SIZE="1")
    you say {got}; it is {want}. {RANK} is in the argument: read `environ`, not this process's
    `os.environ`.
finds nothing
    | named.rank in environ => named.rank in ()
    you say None, and {RANK} is in the argument: this is {want}. It has this very name, in `environ`
    and not in this process's own `os.environ`; of torchrun and srun alone a second name has to be
    there, and nothing else of any.
in floats
    | int( *=> float(
    ? is no whole number
asks for the local rank
    | environ.get(named.local, "0") => environ[named.local]
    ? you ask for MPI_LOC
None on its node
    | int(local) => int(local) if named.local in environ else None
    ? None) instead of
its own, by name
    | NAMES[name] => NAMES[name]; import os; environ = {n: os.environ[n] for n in environ
        if "RANK" in n}
    ? and it is in the argument
torchrun alone
    | ("horovodrun", "torchrun", "ibrun", "srun") => ("torchrun",)
    | named.rank in environ and named.sure in environ => True
    | int(local) => int(environ[named.local])
    ? its own variables
never outside
    | environ.get(named.local, "0") => environ[named.local]
    | return None => return tuple(int(environ[each]) for each in NAMES["srun"][:3])
    ? Return None where no
takes variables out
    | environ[named.rank]) => environ.pop(named.rank))
    ? you changed RANK in
"""

EXERCISE = Exercise(
    number="17.5",
    title="Which rank am I?",
    size=Size(stars=1, minutes=10, points=2),
    function="rank_in",
    asks=(
        "(rank, world size, local rank) as whole numbers, from what horovodrun, torchrun, ibrun or "
        "srun left in `environ`, asked for in this order; a local rank that is not there is 0. "
        "None outside a job, as in a batch script."
    ),
    cases=cases,
    drive=in_environment,
    claim=claim,
    numbers=numbers,
    compared=compared,
    mistakes=(
        Mistake("changes the environment", changes_it),
        Mistake("no whole numbers", floats),
        Mistake("no local rank is 0", no_local, unfinished=True),
        Mistake("does not look which launcher it was", not_there, unfinished=True),
    ),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("17.5", WRONG, by_names),
    ranked=False,
)
