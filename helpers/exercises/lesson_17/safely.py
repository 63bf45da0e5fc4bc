"""Exercise 17.3, a write that nothing spoils: a kill at any byte leaves the old one or the new one.

`write_safely(folder, name, data) -> None`. The claim: after a kill or a power cut at any tick, of
each kind that `algorithms.checkpoints.crashes` knows, `name` is the old file or the new one, and
once the function has returned, the new one. Nothing else is changed or left, also not by a call
after a kill; no two files share a temporary one; nothing is read, and no byte written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.algorithms.checkpoints.folder import write_safely as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.drives_crashes import crashed
from helpers.exercises.lesson_17 import safely_wrong as wrong
from helpers.exercises.lesson_17.safely_reason import faults, fingerprint, used
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

_LETTERS = "abcdefghijklmnopqrstuvwxyz "


def cases(seed: int) -> list[Case]:
    """Over an older file, beside one that another rank is writing; parts of a sharded checkpoint;
    a file of the same size; no bytes; the first file of a folder. The same kinds for any seed."""
    random = rng(seed, "17.3")
    sizes = [12, 15, 11, 10] if not seed else [int(n) for n in random.integers(9, 17, 4)]
    step = 40 if not seed else int(random.integers(1, 1000))
    text = [_text(random, n) for n in (*sizes, 6, 7, 5, 9)]
    parts = [f"step-{step:08d}.part-{n}-of-4" for n in (1, 2)]
    beside = {"optimizer": text[4], "optimizer.tmp": text[5]}
    older = text[0][3:]
    return [
        _case("", {"model": older, **beside}, "model", text[0], text[6], "data order"),
        _case("", {f"step-{step:08d}.part-0-of-4": text[4]}, parts[0], text[1], text[7], parts[1]),
        _case("", {"model": text[2][::-1] + "!"}, "model", text[2] + ".", text[6], "optimizer"),
        _case("", {"model": text[3]}, "model", "", text[7], "data order"),
        _case(" in an empty folder", {}, "latest", text[3], text[6], "model"),
    ]


def _text(random: np.random.Generator, length: int) -> str:
    return "".join(random.choice(list(_LETTERS), length))


def _case(where: str, files: dict[str, str], name: str, new: str, later: str, other: str) -> Case:
    over = f" over a file of {len(files[name])}" if name in files else where or " as a new file"
    said = f"Writing {count(len(new), 'byte')}{over}"
    return Case(said, ((files, name, new, later, other),))


def claim(case: Case, seen: Observation) -> str | None:
    """The most telling fault, as it was seen."""
    found = faults(case, seen.values[0])
    return f"{case.name}, {found[0].words}." if found else None


def compared(case: Case, seen: Observation) -> Any:
    """What is wrong, and what it did, whatever its temporary names are."""
    return fingerprint(case, seen.values[0])


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    files, name, data, _, other = case.args[0]
    value = seen.values[0]
    temporary = sorted(used(value["done"]) - {name, *files})
    return {
        "seen": faults(case, value)[0].words,
        "name": name,
        "other": other,
        "temporary": temporary[0] if temporary else name,
        "bytes": count(len(data), "byte"),
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    stops = sum(len(each.values[0]["found"]) for each in seen)
    return (
        f"Passed: {stops} times the process was killed or the power cut, at every byte, and each "
        "time the old file or the new one was there, whole. Once you had returned, it was the new "
        "one."
    )


def _known(name: str, answer: Callable[..., None], what: str) -> WrongAnswer:
    return WrongAnswer(name, answer, f"{{seen}}: {what}")


EXERCISE = Exercise(
    number="17.3",
    title="A write that nothing spoils",
    stars=2,
    minutes=15,
    points=3,
    function="write_safely",
    asks=(
        "write `data` as the file `name`, so that after a kill or a power cut at any moment the "
        "folder holds the old file or the new one, and once you have returned, the new one. Other "
        "ranks write other files to the folder at the same time. Nothing of yours stays beside "
        "it, also not after a kill once you are called again; nothing is read, and each byte "
        "written once."
    ),
    cases=cases,
    drive=crashed,
    claim=claim,
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        _known(
            "nothing is written",
            wrong.elsewhere,
            "you asked nothing of `folder`. Write with its methods: what goes to the disk past "
            "them is in no folder of a checkpoint.",
        ),
        _known(
            "in place",
            wrong.in_place,
            "`write` empties what is there and puts one byte after the other. Write to a temporary "
            "name, and give the file its name when it is whole.",
        ),
        _known(
            "nothing is synced",
            wrong.nothing_synced,
            "a rename is safe from kills alone. Neither the bytes nor the name need be on the disk "
            "yet, and the name may come first: `sync` the temporary file before the rename, and "
            "`sync_names` after it.",
        ),
        _known(
            "no sync of the bytes",
            wrong.no_sync,
            "the new name came to the disk before the bytes; `sync` before you rename.",
        ),
        _known(
            "syncs after the rename",
            wrong.sync_after_rename,
            "the new name came to the disk before the bytes. You `sync` these after the rename, "
            "and the power went in between: `sync` the temporary file before you rename.",
        ),
        _known(
            "syncs the old file",
            wrong.syncs_the_old_file,
            "you `sync` `{name}`, which is the old file until you rename. The new bytes are in "
            "`{temporary}`: that is what has to be synced.",
        ),
        _known(
            "no sync of the names",
            wrong.no_sync_names,
            "the bytes are on the disk, and the rename is not. Call `sync_names` after it, or what "
            "is done next, such as deleting older checkpoints, may come to the disk first.",
        ),
        _known(
            "syncs the names before the rename",
            wrong.sync_names_before_rename,
            "your `sync_names` comes before the rename, which it cannot wait for. Call it after.",
        ),
        _known(
            "syncs the file again",
            wrong.syncs_the_file_again,
            "`sync` waits for a file’s bytes, also after the rename. For its name there is "
            "`sync_names`.",
        ),
        _known(
            "removes the old file first",
            wrong.removes_first,
            "you remove the old file before the new one has its name. `rename` takes its place in "
            "one go; remove nothing.",
        ),
        _known(
            "removes the old file and writes",
            wrong.removes_and_writes,
            "until the last byte of the new file is written there is none. Write to a temporary "
            "name, and rename that: it takes the old file’s place in one go.",
        ),
        _known(
            "moves the old file aside",
            wrong.moves_aside,
            "between your two renames no file has the name. One is enough: `rename` takes the old "
            "file’s place in one go.",
        ),
        _known(
            "copies the temporary file",
            wrong.copies,
            "to copy is to write in place once more. `rename` gives `{temporary}` its name in one "
            "go, and no byte moves.",
        ),
        _known(
            "writes the file as well",
            wrong.writes_twice,
            "beside the temporary file you write `{name}` itself, in place. Rename the temporary "
            "one instead.",
        ),
        _known(
            "renames the wrong way round",
            wrong.renames_backwards,
            "you rename the old file to the temporary name, and lose the new bytes. It is "
            "`rename(old name, new name)`, from the temporary name to `{name}`.",
        ),
        _known(
            "never renames",
            wrong.never_renames,
            "the new bytes went to `{temporary}`, and nothing gave that file its name: "
            "`folder.rename(temporary, name)`.",
        ),
        _known(
            "never over a file",
            wrong.never_over,
            "you write nothing where a file of this name is. The new one has to take its place.",
        ),
        _known(
            "by its size",
            wrong.same_size,
            "the old file has as many bytes as the new one, and you took it for that. The size "
            "says nothing of what is in it.",
        ),
        _known(
            "one temporary name for all",
            wrong.one_for_all,
            "one would write over the bytes of the other, and one of them would find its file "
            "gone. Make the temporary name of the whole `name`.",
        ),
        _known(
            "a temporary name never used again",
            wrong.never_the_same,
            "a kill leaves a file there that nobody writes over or removes, as large as a "
            "checkpoint, each time. Make the temporary name of `name` alone: a time, or the number "
            "of the process, is another one after a kill.",
        ),
        _known(
            "trusts what is left",
            wrong.trusts_what_is_left,
            "you take a temporary file that is there for whole. It is what a kill has left: write "
            "over it.",
        ),
        _known(
            "refuses",
            wrong.refuses,
            "the temporary file that is there has no writer any more, it is what a kill has left. "
            "Write over it.",
        ),
        _known(
            "gives way",
            wrong.gives_way,
            "you write nothing where a temporary file is. It has no writer any more, it is what a "
            "kill has left: write over it.",
        ),
        _known(
            "clears all temporary files",
            wrong.clears_all,
            "that rank is in the middle of its write. Only a temporary file of your own name may "
            "go.",
        ),
        _known(
            "leaves a mark",
            wrong.marks,
            "it says that `{name}` is whole, which the name says already: a file that has it is "
            "whole.",
        ),
        _known(
            "keeps a copy of the old file",
            wrong.keeps_a_copy,
            "the old file is there until the new one takes its place, so no copy has to be kept.",
        ),
        _known(
            "reads the file back",
            wrong.reads_back,
            "what you read comes from memory, not from the disk, and proves nothing. When `sync` "
            "has returned, the bytes are there.",
        ),
        _known(
            "reads the old file",
            wrong.reads_first,
            "that takes as long as to write it, and all but always tells that there is something "
            "to do.",
        ),
        _known(
            "twice",
            wrong.once_more,
            "what is written, synced, renamed and its name synced is safe. A second time adds "
            "nothing but time.",
        ),
    ),
    ranked=False,
)
