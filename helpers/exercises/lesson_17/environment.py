"""Exercise 17.5, which rank a process is, whoever started it.

`rank_in(environ) -> (rank, size, local rank)`, None outside a job. The claim: these numbers, of the
first launcher of horovodrun, torchrun, ibrun and srun of whom there is a rank; no rank for a job's
batch script; the variables stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.algorithms.launching.environment import rank_in as reference
from helpers.exercises.compare import describe, number
from helpers.exercises.drives_launching import in_environment
from helpers.exercises.drives_split import returned
from helpers.exercises.lesson_17 import environment_wrong as wrong
from helpers.exercises.lesson_17.environment_cases import cases
from helpers.exercises.lesson_17.environment_reason import (
    changes_it,
    claim,
    floats,
    no_local,
    not_there,
)
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def compared(case: Case, seen: Observation) -> Any:
    """The numbers, in whatever holds them; texts stay texts."""
    got = returned(seen.values[0])
    if type(got) not in (tuple, list):
        return got
    return [each if type(each) is str else number(each) for each in got]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    environ, want, got = case.args[0][0], case.facts["want"], returned(seen.values[0])
    named = wrong.NAMES[case.facts["launcher"]]
    rank, size, local = want or (None, None, None)
    given = dict(zip(("its_rank", "its_size", "its_local"), got or (None,) * 3, strict=False))
    return {
        **{"got": describe(got), "want": describe(want), "rank": rank, "size": size},
        **{"local": local, "RANK": named.rank, "SIZE": named.size, "LOCAL": named.local},
        **{"NODE": named.node, "BESIDE": named.beside, "nodes": environ.get(named.nodes)},
        **{"asked": environ.get("SLURM_NTASKS"), "node": environ.get(named.node)},
        **{"its_rank": None, "its_size": None, "its_local": None, **given},
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    rank, size, local = cases[0].facts["want"]
    return (
        f"Passed: rank {rank} of {size}, number {local} on its node, whether torchrun, horovodrun, "
        "srun or ibrun started it, or one of them inside another; and the batch script is no rank."
    )


_ITS_OWN = (
    "you say {got}; it is {want}. {RANK} is in the argument: read `environ`, not this process's "
    "`os.environ`."
)

EXERCISE = Exercise(
    number="17.5",
    title="Which rank am I?",
    stars=1,
    minutes=10,
    points=2,
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
    wrong=(
        WrongAnswer(
            "texts",
            wrong.texts,
            "you say {got}, which are texts: all of an environment is text. Make whole numbers of "
            'them, with `int`: "10" comes before "9", and rank == 0 is never true.',
        ),
        WrongAnswer(
            "no local rank",
            wrong.no_local,
            "you say {got}; the local rank is missing, which chooses the GPU: {LOCAL}, {local}.",
        ),
        WrongAnswer(
            "the number on its node for the rank",
            wrong.local_for_rank,
            "you say rank {its_rank}, which is {LOCAL}: the number on its own node. Every node has "
            "a rank of that number; the one of the whole job is {RANK}.",
        ),
        WrongAnswer(
            "the rank for the number on its node",
            wrong.rank_for_local,
            "you say that it is number {its_local} on its node; that is its rank in the whole job. "
            "GPUs are counted on each node from 0: {LOCAL}, which is {local}.",
        ),
        WrongAnswer(
            "the node's number",
            wrong.node_for_local,
            "you give {NODE} as the local rank: the number of the node among the nodes. Which one "
            "of its node's ranks it is says {LOCAL}.",
        ),
        WrongAnswer(
            "how many for which one",
            wrong.beside_for_local,
            "you give {BESIDE} as the local rank: how many ranks are on its node. Which one of "
            "them it is says {LOCAL}, {local}.",
        ),
        WrongAnswer(
            "the ranks of one node",
            wrong.beside_for_size,
            "you say that there are {its_size} ranks: so many are on this node ({BESIDE}). "
            "{SIZE} counts those of the whole job, {size}.",
        ),
        WrongAnswer(
            "the number of nodes",
            wrong.nodes_for_size,
            "you say that there are {its_size} ranks: so many nodes there are. {SIZE} is {size}.",
        ),
        WrongAnswer(
            "the local rank by dividing",
            wrong.by_dividing,
            "you work the local rank out as rank % {BESIDE}, which is {its_local}. That holds "
            "where all nodes have as many ranks and are filled one after the other, which nobody "
            "promises. {LOCAL} says it: {local}.",
        ),
        WrongAnswer(
            "the local rank of four GPUs a node",
            wrong.by_four,
            "you work the local rank out as rank % 4, which is {its_local}. Not all nodes have "
            "four ranks. {LOCAL} says it: {local}.",
        ),
        WrongAnswer(
            "LOCAL_RANK alone",
            wrong.local_rank_alone,
            "you say that it is number 0 on its node, and it is number {local}: that is called "
            "{LOCAL} here. LOCAL_RANK is torchrun's name.",
        ),
        WrongAnswer(
            "the tasks of the job",
            wrong.tasks_of_job,
            "you say that there are {its_size} ranks: that is SLURM_NTASKS, what the job asked "
            "for. This step of it has {size} tasks, by SLURM_STEP_NUM_TASKS; whoever waits for "
            "{its_size} ranks waits for ever.",
        ),
        WrongAnswer(
            "srun before ibrun",
            wrong.srun_before_ibrun,
            "you say {got}, which is the place of the shell from which ibrun was started. Go by "
            "the order of the table: ask for ibrun's variables before srun's.",
        ),
        WrongAnswer(
            "nobody without a local rank",
            wrong.nobody_without_local,
            "you say None, and this is rank {rank} of {size}; a local rank that is not there is "
            "0: `environ.get(name, 0)`.",
        ),
        WrongAnswer(
            "ibrun is nobody",
            wrong.no_ibrun,
            "you say None, and this is rank {rank} of {size}: ibrun starts ranks by PMI, without "
            "srun. They are told PMI_RANK, PMI_SIZE and MPI_LOCALRANKID.",
        ),
        WrongAnswer(
            "the batch script is a rank",
            wrong.batch_is_rank,
            "you say {got}, for there is SLURM_PROCID. The batch script has it too, and is no "
            "rank: nobody would answer it. Only what srun has started has SLURM_STEP_NUM_TASKS.",
        ),
        WrongAnswer(
            "the batch script's number under ibrun",
            wrong.slurm_before_ibrun,
            "you say {got}: that SLURM_PROCID is the batch script's, and all of ibrun's ranks have "
            "it. Ask for PMI_RANK and PMI_SIZE first; or hold SLURM_PROCID for a rank only where "
            "there is SLURM_STEP_NUM_TASKS as well.",
        ),
        WrongAnswer(
            "alone is rank 0 of 1",
            wrong.alone,
            "you say {got}, as if a launcher had started one rank. There is none here: return "
            "None, so that whoever asks can tell the two apart.",
        ),
        WrongAnswer(
            "srun before torchrun",
            wrong.srun_before_torchrun,
            "you say {got}, which is the agent's place: srun started an agent on each node, and "
            "the agent started the ranks. Go by the order of the table: ask for torchrun's "
            "variables before SLURM's.",
        ),
        WrongAnswer(
            "torchrun before horovodrun",
            wrong.torchrun_before_horovodrun,
            "you say {got}, which is the place of the process that started horovodrun. Go by the "
            "order of the table: ask for HOROVOD_RANK before RANK.",
        ),
        WrongAnswer(
            "srun before horovodrun",
            wrong.srun_before_horovodrun,
            "you say {got}, which is the place of the shell from which horovodrun was started. Go "
            "by the order of the table: ask for horovodrun's variables before SLURM's.",
        ),
        WrongAnswer(
            "RANK without MASTER_ADDR",
            wrong.any_rank,
            "you say {got}, by a RANK that somebody has exported. torchrun sets MASTER_ADDR as "
            "well, and it is not there: go on with the next launcher of the table, {want}.",
        ),
        WrongAnswer(
            "one rank is no job",
            wrong.one_is_none,
            "you say None, and {SIZE} is there: a job of one rank is a job, and {want} its place.",
        ),
        WrongAnswer(
            "rank 0 is no rank",
            wrong.zero_is_none,
            "you say None, and {RANK} is there: rank 0 is a rank, though `if rank:` is false for "
            "it. Ask whether the variable is there.",
        ),
        WrongAnswer("reads its own environment", wrong.its_own, _ITS_OWN),
        WrongAnswer(
            "finds nothing",
            wrong.an_empty_one,
            "you say None, and {RANK} is in the argument: this is {want}. Look for it by this "
            "very name, in `environ` and not in this process's own `os.environ`; of torchrun and "
            "srun alone a second name has to be there.",
        ),
        WrongAnswer("in floats", wrong.in_floats, hint="is no whole number"),
        WrongAnswer(
            "asks for the local rank", wrong.local_rank_asked_for, hint="you ask for MPI_LOC"
        ),
        WrongAnswer("None on its node", wrong.none_for_local, hint="None) instead of"),
        WrongAnswer("its own, by name", wrong.own_by_name, hint="and it is in the argument"),
        WrongAnswer("torchrun alone", wrong.torchrun_alone, hint="its own variables"),
        WrongAnswer("never outside", wrong.never_outside, hint="Return None where no"),
        WrongAnswer("takes variables out", wrong.takes_out, hint="you changed RANK in"),
        WrongAnswer("sets what is missing", wrong.sets_missing, hint="LOCAL_RANK and RANK in"),
    ),
    ranked=False,
)
