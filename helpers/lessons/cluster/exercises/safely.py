"""Exercise 17.3, a write that nothing spoils: a kill at any byte leaves the old one or the new one.

`write_safely(folder, name, data) -> None`. The claim: after a kill or a power cut at any tick, of
each kind that `algorithms.checkpoints.crashes` knows, `name` is the old file or the new one, and
once the function has returned, the new one. Nothing else is changed or left, also not by a call
after a kill; no two files share a temporary one; nothing is read, and no byte written twice.
"""

from collections.abc import Sequence
from itertools import count as numbered
from typing import Any

from helpers.checks.compare import count
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.cluster.algorithms.folder import write_safely as reference
from helpers.lessons.cluster.exercises.crashes import READING, crashed, writing
from helpers.lessons.cluster.exercises.faults import ended, faults, used


def cases(seed: int) -> list[Case]:
    """Over an older file, beside one that another rank is writing; parts of a sharded checkpoint;
    a file of the same size; no bytes; the first file of a folder; one whose name begins others'.
    The same kinds for any seed."""
    random = rng(seed, "17.3")
    sizes = [12, 15, 11, 10] if not seed else [int(n) for n in random.integers(9, 17, 4)]
    step = 40 if not seed else int(random.integers(1, 1000))
    letters = list("abcdefghijklmnopqrstuvwxyz ")
    text = ["".join(random.choice(letters, n)) for n in (*sizes, 6, 7, 5, 9)]
    parts = [f"step-{step:08d}.part-{n}-of-4" for n in range(3)]
    whole = f"step-{step:08d}"
    beside = {"optimizer": text[4], "optimizer.tmp": text[5]}
    kinds: list[tuple[dict[str, str], str, str, str, str]] = [
        ({"model": text[0][3:], **beside}, "model", text[0], text[6], "data order"),
        ({parts[0]: text[4]}, parts[1], text[1], text[7], parts[2]),
        ({"model": text[2][::-1] + "!"}, "model", text[2] + ".", text[6], "optimizer"),
        ({"model": text[3]}, "model", "", text[7], "data order"),
        ({}, "latest", text[3], text[6], "model"),
        ({parts[0]: text[4]}, whole, text[3], text[6], f"{whole[:-1]}{(step + 1) % 10}"),
    ]
    made = []
    for files, name, new, later, other in kinds:
        where = " as a new file" if files else " in an empty folder"
        where = f" over a file of {len(files[name])}" if name in files else where
        said = f"Writing {count(len(new), 'byte')}{where}"
        made.append(Case(said, ((files, name, new, later, other),)))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The most telling fault, as it was seen."""
    found = faults(case, seen.values[0])
    return f"{found[0].words}." if found else None


def compared(case: Case, observed: Observation) -> Any:
    """What tells one answer from another, whatever it calls its temporary file.

    Its faults of the first kind, and what it did that has to do with these: what it reads, or, for
    a power cut, syncs, the file itself as the old or the new one, or another; whether it takes the
    file itself away, and brings the new one; and where it changes nothing, what it asks for.
    """
    seen = observed.values[0]
    name, done = case.args[0][1], seen["done"]
    keys = sorted({fault.key for fault in faults(case, seen)})
    told = {"read"} | ({"sync"} if not any(key.startswith("killed") for key in keys) else set())
    told |= {"sync_names"} if any(key.endswith("in the end") for key in keys) else set()
    told |= set() if writing(done) else set(READING)
    did, which = set(), "the old file"
    for what, *texts in done:
        of = which if texts[:1] == [name] else ""
        if what in told:
            did.add(f"{what} {of}")
        elif what in ("remove", "rename") and of:
            did.add(f"{what}s it")
        if what in ("write", "rename") and name == texts[what == "rename"]:
            which = "the new file"
    if used(done) - {name}:
        did.add("uses another file")
    if ended(seen).get(name) == case.args[0][2]:
        did.add("brings the file")
    return {"faults": keys, "did": sorted(did)}


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    files, name = case.args[0][:2]
    value = seen.values[0]
    temporary = sorted(used(value["done"]) - {name, *files})
    its = temporary[0] if temporary else name
    return {"seen": faults(case, value)[0].words, "name": name, "temporary": its}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    stops = sum(len(each.values[0]["found"]) for each in seen)
    return (
        f"Passed: {stops} times the process was killed or the power cut, at every byte, and each "
        "time the old file or the new one was there, whole. Once you had returned, it was the new "
        "one."
    )


_number = numbered()


def write(folder: Any, name: str, data: bytes) -> None:
    """The reference, with its temporary name in full."""
    temporary = name + ".tmp"
    folder.write(temporary, data)
    folder.sync(temporary)
    folder.rename(temporary, name)
    folder.sync_names()


def elsewhere(folder: Any, name: str, data: bytes) -> None:
    """Nothing is asked of the folder."""


WRONG = """
nothing is written
    = elsewhere
    {seen}: you asked nothing of `folder`. Each file, also one of no bytes, is written with its
    methods: what goes to the disk past them is in no folder of a checkpoint.
in place
    | temporary = name + ".tmp" => temporary = name
    | folder.rename(temporary, name) =>
    {seen}: `write` empties what is there and puts one byte after the other. Write to a temporary
    name, and give the file its name when it is whole.
nothing is synced
    | folder.sync(temporary) =>
    | folder.sync_names() =>
    {seen}: a rename is safe from kills alone. Neither the bytes nor the name need be on the disk
    yet, and the name may come first: `sync` the temporary file before the rename, and `sync_names`
    after it.
no sync of the bytes
    | folder.sync(temporary) =>
    {seen}: the new name came to the disk before the bytes; `sync` before you rename.
syncs after the rename
    | folder.sync(temporary) =>
    | folder.sync_names() => folder.sync(name); folder.sync_names()
    {seen}: the new name came to the disk before the bytes. You `sync` these after the rename, and
    the power went in between: `sync` the temporary file before you rename.
syncs the old file
    | folder.sync(temporary) => name in folder.names() and folder.sync(name)
    {seen}: you `sync` `{name}`, which is the old file until you rename. The new bytes are in
    `{temporary}`: that is what has to be synced.
no sync of the names
    | folder.sync_names() =>
    {seen}: the bytes are on the disk, and the rename is not. Call `sync_names` after it, or what is
    done next, such as deleting older checkpoints, may come to the disk first.
syncs the names before the rename
    | folder.sync_names() =>
    | folder.sync(temporary) => folder.sync(temporary); folder.sync_names()
    {seen}: your `sync_names` comes before the rename, which it cannot wait for. Call it after.
syncs the file again
    | folder.sync_names() => folder.sync(name)
    {seen}: `sync` waits for a file’s bytes, also after the rename. For its name there is
    `sync_names`.
removes the old file first
    | folder.rename( => name in folder.names() and folder.remove(name); folder.rename(
    {seen}: you remove the old file before the new one has its name. `rename` takes its place in one
    go; remove nothing.
removes the old file and writes
    | temporary = name + ".tmp" => name in folder.names() and folder.remove(name); temporary = name
    | folder.rename(temporary, name) =>
    {seen}: until the last byte of the new file is written there is none. Write to a temporary name,
    and rename that: it takes the old file’s place in one go.
moves the old file aside
    | folder.rename(
        => there = name in folder.names(); there and folder.rename(name, name + ".old");
        folder.rename(
    | folder.sync_names() => folder.sync_names(); there and folder.remove(name + ".old")
    {seen}: between your two renames no file has the name. One is enough: `rename` takes the old
    file’s place in one go.
copies the temporary file
    | folder.rename(temporary, name)
        => folder.write(name, folder.read(temporary)); folder.sync(name); folder.remove(temporary)
    {seen}: to copy is to write in place once more. `rename` gives `{temporary}` its name in one go,
    and no byte moves.
writes the file as well
    | folder.rename(temporary, name)
        => folder.write(name, data); folder.sync(name); folder.remove(temporary)
    {seen}: beside the temporary file you write `{name}` itself, in place. Rename the temporary one
    instead.
renames the wrong way round
    | folder.rename(temporary, name) => folder.rename(name, temporary)
    {seen}: you rename the old file to the temporary name, and lose the new bytes. It is `rename(old
    name, new name)`, from the temporary name to `{name}`.
never renames
    | folder.rename(temporary, name) =>
    {seen}: the new bytes went to `{temporary}`, and nothing gave that file its name:
    `folder.rename(temporary, name)`.
never over a file
    | temporary = name + ".tmp" => if name in folder.names(): return
    | folder.write(temporary, => folder.write(temporary := name + ".tmp",
    {seen}: you write nothing where a file of this name is. The new one has to take its place.
by its size
    | temporary = name + ".tmp"
        => if name in folder.names() and folder.size(name) == len(data): return
    | folder.write(temporary, => folder.write(temporary := name + ".tmp",
    {seen}: the old file has as many bytes as the new one, and you took it for that. The size says
    nothing of what is in it.
one temporary name for all
    | name + ".tmp" => "checkpoint.tmp"
    {seen}: one would write over the bytes of the other, and one of them would find its file gone.
    Make the temporary name of the whole `name`.
a temporary name never used again
    | name + ".tmp" => f"{name}.{next(_number)}.tmp"
    {seen}: a kill leaves a file there that nobody writes over or removes, as large as a checkpoint,
    each time. Make the temporary name of `name` alone: a time, or the number of the process, is
    another one after a kill.
trusts what is left
    | folder.write( => temporary in folder.names() or folder.write(
    {seen}: you take a temporary file that is there for whole. It is what a kill has left: write
    over it.
refuses
    | temporary = name + ".tmp"
        => if (temporary := name + ".tmp") in folder.names(): raise FileExistsError(f"{name} is
        being written.")
    {seen}: the temporary file that is there has no writer any more, it is what a kill has left.
    Write over it.
gives way
    | temporary = name + ".tmp" => if (temporary := name + ".tmp") in folder.names(): return
    {seen}: you write nothing where a temporary file is. It has no writer any more, it is what a
    kill has left: write over it.
clears all temporary files
    | temporary =
        => [folder.remove(each) for each in folder.names() if each.endswith(".tmp")]; temporary =
    {seen}: that rank is in the middle of its write. Only a temporary file of your own name may go.
clears what begins with its name
    | temporary = => [folder.remove(each) for each in folder.names() if each.startswith(name)
        and each != name]; temporary =
    {seen}: a name may begin as yours does and be another file's. Of what others have left only your
    own temporary file may go, by its whole name.
leaves a mark
    | folder.sync_names()
        => folder.sync_names(); folder.write(name + ".done", b""); folder.sync(name + ".done");
        folder.sync_names()
    {seen}: it says that `{name}` is whole, which the name says already: a file that has it is
    whole.
keeps a copy of the old file
    | temporary =
        => name in folder.names() and reference(folder, name + ".old", folder.read(name));
        temporary =
    {seen}: the old file is there until the new one takes its place, so no copy has to be kept.
reads the file back
    | folder.rename( => assert folder.read(temporary) == data; folder.rename(
    {seen}: what you read comes from memory, not from the disk, and proves nothing. When `sync` has
    returned, the bytes are there.
reads the old file
    | temporary = name + ".tmp" => if name in folder.names() and folder.read(name) == data: return
    | folder.write(temporary, => folder.write(temporary := name + ".tmp",
    {seen}: that takes as long as to write it, and all but always tells that there is something to
    do.
twice
    | folder.sync_names() => folder.sync_names(); reference(folder, name, data)
    {seen}: what is written, synced, renamed and its name synced is safe. A second time adds nothing
    but time.
"""

EXERCISE = Exercise(
    number="17.3",
    title="A write that nothing spoils",
    size=Size(stars=2, minutes=15, points=3),
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
    wrong=wrong_answers("17.3", WRONG, write, elsewhere),
    ranked=False,
)
