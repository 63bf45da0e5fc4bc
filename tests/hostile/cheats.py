"""Answers that have not computed what they give: learned by heart, taken from others, guessed."""

from __future__ import annotations

from textwrap import indent

from hostile.submission import Attack, armed, right, wrong


def by_heart() -> Attack:
    """A dictionary from the inputs that the lesson shows to their right answers."""
    from helpers.checks import find

    exercise = find("02.4")
    table = {}
    for case in exercise.cases(0):
        sizes, seconds = case.args[0]
        table[repr((sizes, seconds))] = tuple(case.facts["best"])
    code = f"TABLE = {table!r}\n\n\ndef fit(sizes, seconds):\n"
    code += "    return TABLE.get(repr((sizes, seconds)), (0.0, 0.0))\n"
    return Attack("by heart", [right("scatter"), code], full=("scatter",))


def time_bomb_on_hidden() -> Attack:
    """Right on the cases that the lesson shows, asleep on others."""
    true = right("fit").replace("def fit(", "def true_fit(")
    code = (
        f"{true}\nimport time\n\nCALLS = []\n\n\ndef fit(sizes, seconds):\n    CALLS.append(1)\n"
        "    if len(CALLS) > 3:\n        time.sleep(1e6)\n    return true_fit(sizes, seconds)\n"
    )
    return Attack(
        "time bomb on hidden cases",
        [right("scatter"), code],
        full=("scatter",),
        outcomes={"fit": ("time-out",)},
    )


def late_value() -> Attack:
    """A list that a thread fills after it was returned."""
    true = right("fit").replace("def fit(", "def true_fit(")
    code = (
        f"{true}\nimport threading, time\n\n\ndef fit(sizes, seconds):\n    found = [0.0, 0.0]\n\n"
        "    def late():\n        time.sleep(0.3)\n        found[:] = true_fit(sizes, seconds)\n\n"
        "    threading.Thread(target=late).start()\n    return found\n"
    )
    return Attack("a value that comes late", [right("scatter"), code], full=("scatter",))


def changes_its_inputs() -> list[Attack]:
    """Answers that empty what they are given: the judge compares with its own."""
    spoil = "    import torch\n    sizes.clear()\n    seconds[:] = [0.0] * 3\n"
    true = right("fit").replace("def fit(", "def true_fit(")
    code = (
        f"{true}\n\ndef fit(sizes, seconds):\n"
        f"    found = true_fit(list(sizes), list(seconds))\n{spoil}    return found\n"
    )
    zero = "    if batch is not None:\n        batch.zero_()\n    return batch\n"
    return [
        Attack(
            "spoils its inputs, right answer", [right("scatter"), code], full=("scatter", "fit")
        ),
        Attack(
            "spoils its inputs, wrong answer",
            [right("fit"), f"def scatter(comm, batch, rows, width):\n{zero}"],
            full=("fit",),
        ),
    ]


# How ranks could hand each other data past the network: `give(key, data)`, `take(key)`.
SIDE_CHANNELS = {
    "globals": "BOX = {}\ngive, take = BOX.__setitem__, BOX.__getitem__\n",
    "files": (
        "import torch\n\ndef give(key, data):\n"
        "    for folder in ('/tmp', '/dev/shm', '/var/tmp', '.'):\n        try:\n"
        "            torch.save(data, f'{folder}/{key}')\n        except Exception:\n"
        "            pass\n\n\n"
        "def take(key):\n    for folder in ('/tmp', '/dev/shm', '/var/tmp', '.'):\n        try:\n"
        "            return torch.load(f'{folder}/{key}')\n        except Exception:\n"
        "            pass\n"
    ),
    "loopback": (
        "import socket, threading, torch\n\nPORT = 23456\n\n"
        "def give(key, data):\n    listener = socket.create_server(('127.0.0.1', PORT))\n"
        "    def serve():\n        while True:\n"
        "            listener.accept()[0].sendall(data.numpy().tobytes() + b'end')\n"
        "    threading.Thread(target=serve, daemon=True).start()\n\n\n"
        "def take(key):\n    link = socket.create_connection(('127.0.0.1', PORT), 1)\n"
        "    data = b''\n    while not data.endswith(b'end'):\n        data += link.recv(1 << 16)\n"
        "    return torch.frombuffer(bytearray(data[:-3]), dtype=torch.float32)\n"
    ),
    "shared memory": (
        "from multiprocessing import shared_memory\nimport torch\n\n"
        "def give(key, data):\n    raw = data.numpy().tobytes()\n"
        "    kept = shared_memory.SharedMemory(key, create=True, size=len(raw) or 1)\n"
        "    kept.buf[: len(raw)] = raw\n\n\n"
        "def take(key):\n    kept = shared_memory.SharedMemory(key)\n"
        "    return torch.frombuffer(bytearray(kept.buf), dtype=torch.float32)\n"
    ),
}


def side_channel(name: str) -> Attack:
    """The batch past the network; what is sent are as many zeros, so that the bytes are right."""
    code = (
        f"{SIDE_CHANNELS[name]}\nimport torch\n\n"
        "def scatter(comm, batch, rows, width):\n    key = f'h{comm.size}x{rows}x{width}'\n"
        "    cut = lambda r: slice(r * rows // comm.size, (r + 1) * rows // comm.size)\n"
        "    if comm.rank == 0:\n        give(key, batch.flatten())\n"
        "        for other in range(1, comm.size):\n"
        "            comm.send(torch.zeros_like(batch[cut(other)]), other)\n"
        "    else:\n        comm.recv(0)\n"
        "        batch = take(key)[: rows * width].view(rows, width)\n"
        "    return batch[cut(comm.rank)]\n"
    )
    return Attack(f"side channel, {name}", [right("fit"), code], full=("fit",))


def remembers_for_others() -> Attack:
    """Every rank's rows are drawn once for all, where all ranks' calls share one process."""
    code = (
        "import torch\n\nDRAWN = {}\n\n\ndef shard(rows, rank, size, epoch):\n"
        "    if (rows, epoch) not in DRAWN:\n        DRAWN[rows, epoch] = torch.randperm(rows)\n"
        "    drawn = DRAWN[rows, epoch]\n"
        "    return drawn[rank * rows // size : (rank + 1) * rows // size]\n"
    )
    return Attack("remembers for other ranks", [code], lesson="03")


def more_rows_than_there_are() -> Attack:
    """So many that a judge who looks at them twice never comes to an end."""
    code = "import torch\n\n\ndef shard(rows, rank, size, epoch):\n"
    code += "    return torch.randint(10**6, (1_500_000,))\n"
    return Attack("more rows than there are", [code], lesson="03")


def the_lessons_own_module() -> Attack:
    """The course's own answer, from the module that holds it."""
    code = (
        "def shard(rows, rank, size, epoch):\n    import torch\n"
        "    from helpers.lessons.data_parallel.algorithms.data_parallel import shard_bounds\n"
        "    first, last = shard_bounds(rows, rank, size)\n"
        "    return torch.randperm(rows, generator=torch.Generator().manual_seed(epoch))"
        "[first:last]\n"
    )
    return Attack("the lesson's own module", [code], "03", outcomes={"shard": ("error",)})


def overlap_by_a_clock_of_its_own() -> Attack:
    """Sums after backward, while the rank's clock says that it was before."""
    code = (
        "import torch\n\nTIMES = iter(range(10**6))\n\n\ndef overlap(comm, buckets, reduce):\n"
        "    type(comm).time = lambda self: -1e-9 * next(TIMES)\n\n"
        "    def finish():\n        for bucket in buckets:\n"
        "            flat = torch.cat([p.grad.flatten() for p in bucket])\n"
        "            comm.background(reduce, flat).wait()\n"
        "            parts = flat.split([p.numel() for p in bucket])\n"
        "            for p, part in zip(bucket, parts):\n"
        "                p.grad = (part / comm.size).view_as(p)\n\n    return finish\n"
    )
    return Attack("overlap by a clock of its own", [right("shard"), code], "03", full=("shard",))


def work_by_its_own_word() -> Attack:
    """Every rank adds everything, and says that it did nothing."""
    code = (
        "from helpers.lessons.messages.exercises import shared\n\n\n"
        "def all_reduce_shared(comm, buffers):\n"
        "    shared.Counter.elements = property(lambda self: 0, lambda self, value: None)\n"
        "    comm.barrier()\n    total = sum(buffers)\n    comm.barrier()\n"
        "    buffers[comm.rank].copy_(total)\n"
    )
    # How much a rank works through is its process's word: it costs nothing without the lie, too.
    return Attack("work by its own word", [right("fit"), code], full=("fit", "all_reduce_shared"))


# What a process could say of an answer, or do to what stands beside it: the patch, the exercise's
# function, and a wrong answer that gets no point without it.
FORGED = {
    "messages that count as waited for": (
        "from helpers.checks.drives.requests import Requests\nRequests.end = lambda self: 0",
        "scatter",
        "def scatter(comm, batch, rows, width):\n"
        "    cut = lambda r: slice(r * rows // comm.size, (r + 1) * rows // comm.size)\n"
        "    for other in range(1, comm.size if comm.rank == 0 else 1):\n"
        "        comm.isend(batch[cut(other)].clone(), other)\n"
        "    return comm.recv(0) if comm.rank else batch[cut(0)].clone()\n",
    ),
    "a driver that gives what came in": (
        "from helpers.checks.drives.ranks import Ranked\n"
        "Ranked.on_rank = lambda self, fn, comm, args, hands=None: fn(comm, *args)",
        "scatter",
        wrong("scatter", "batch"),
    ),
    "nobody is late": (
        "from helpers.grade.worker.remote_comm import RemoteComm\n"
        "RemoteComm.compute = lambda self, seconds: None",
        "all_reduce_shared",
        "def all_reduce_shared(comm, buffers):\n    total = sum(buffers)\n"
        "    buffers[comm.rank].copy_(total)\n",
    ),
    "barriers that nobody waits at": (
        "from helpers.grade.worker.remote_comm import RemoteComm\n"
        "RemoteComm.pass_by = lambda self, *its: None",
        "all_reduce_shared",
        "def all_reduce_shared(comm, buffers):\n    comm.barrier()\n    total = sum(buffers)\n"
        "    comm.barrier()\n    buffers[comm.rank].copy_(total)\n",
    ),
    "headers that count less": (
        "from helpers.engine import tensors\n"
        "true = tensors.snapshot\n"
        "tensors.snapshot = lambda t: (true(t)[0]._replace(shape=(0,), nbytes=0), t)",
        "all_reduce_ring",
        "def all_reduce_ring(comm, tensor):\n    for other in range(comm.size):\n"
        "        if other != comm.rank:\n            comm.isend(tensor, other)\n"
        "    return tensor\n",
    ),
    "a copy of the process that answers": (
        "import os",
        "fit",
        "def fit(sizes, seconds):\n    if os.fork():\n        os._exit(0)\n    return 0.0, 0.0\n",
    ),
}


def forged(name: str) -> Attack:
    """A wrong answer whose process lies for it."""
    patch, function, answer = FORGED[name]
    other = "fit" if function != "fit" else "scatter"
    cell = f"def lies():\n{indent(patch, '    ')}\n\n\n_armed = lies() or True"
    imports = "\n".join(line for line in patch.splitlines() if line.startswith("import "))
    cells = [imports, cell, right(other), armed(answer)]
    either = (other,)  # which may lose its points by what the lie breaks
    return Attack(f"forged, {name}", cells, either=either)


def sums_beside_a_backward_that_is_never_over() -> Attack:
    """Sums after backward, of which the grader is never told that it has ended."""
    code = (
        "import torch\nfrom helpers.grade.worker.remote_comm import HandsOf\n\n\n"
        "def overlap(comm, buckets, reduce):\n"
        "    HandsOf.backward_ended = HandsOf.finished = lambda self: None\n\n"
        "    def finish():\n        for bucket in buckets:\n"
        "            flat = torch.cat([p.grad.flatten() for p in bucket])\n"
        "            comm.background(reduce, flat).wait()\n"
        "            parts = flat.split([p.numel() for p in bucket])\n"
        "            for p, part in zip(bucket, parts):\n"
        "                p.grad = (part / comm.size).view_as(p)\n\n    return finish\n"
    )
    return Attack("a backward that is never over", [right("shard"), code], "03", full=("shard",))


def tells_hidden_inputs() -> str:
    """What a submission would write into its report, were the next hint to quote it."""
    true = right("scatter").replace("def scatter(", "def true_scatter(")
    return (
        f"{true}\n\nSEEN = []\n\n\ndef scatter(comm, batch, rows, width):\n"
        "    SEEN.append((rows, width))\n    return true_scatter(comm, batch, rows, width)\n"
    )


def leak() -> Attack:
    """Hidden inputs of one exercise, told by the exception of the next one's visible case."""
    code = "def fit(sizes, seconds):\n    raise ValueError(f'leak {SEEN[4:]}')\n"
    return Attack("leak", [tells_hidden_inputs(), code], full=("scatter",))


def of_lesson_03() -> list[Attack]:
    """Those whose exercises are lesson 03's."""
    return [
        remembers_for_others(),
        more_rows_than_there_are(),
        the_lessons_own_module(),
        overlap_by_a_clock_of_its_own(),
        sums_beside_a_backward_that_is_never_over(),
        Attack("overlap, the course's own", [right("overlap")], "03", full=("overlap",)),
    ]


def cheats() -> list[Attack]:
    """All of them; those by heart ask the specs for what they know."""
    return [
        by_heart(),
        time_bomb_on_hidden(),
        late_value(),
        work_by_its_own_word(),
        Attack(
            "shared memory, the course's own",
            [right("all_reduce_shared")],
            full=("all_reduce_shared",),
        ),
        *changes_its_inputs(),
        *map(forged, FORGED),
        *map(side_channel, SIDE_CHANNELS),
    ]
