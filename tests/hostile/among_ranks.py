"""Ranks that do not play together: collectives left out, shapes that differ, ranks that end."""

from __future__ import annotations

from hostile.submission import Attack, right

# What the ranks do wrong among themselves; `fit` beside it stays right.
RANKS = {
    "shapes that differ": (
        "    comm.send(torch.ones(comm.rank + 2), (comm.rank + 1) % comm.size)\n"
        "    comm.recv((comm.rank - 1) % comm.size, into=torch.ones(1))\n    return batch\n"
    ),
    "another rank's name": (
        "    comm.rank = 0 if comm.rank else 1\n    comm.size = 1\n    return batch\n"
    ),
    "sends for ever": (
        "    while True:\n        comm.isend(torch.ones(9), (comm.rank + 1) % comm.size)\n"
    ),
    "one rank ends": (
        "    import os\n    if comm.rank == comm.size - 1:\n        os._exit(0)\n"
        "    comm.barrier()\n    return batch\n"
    ),
    "one rank sleeps": (
        "    import time\n    if comm.rank == comm.size - 1:\n        time.sleep(1e6)\n"
        "    comm.barrier()\n    return batch\n"
    ),
    "a thread of its own": (
        "    import threading\n    def more():\n        while True:\n            comm.time()\n"
        "    threading.Thread(target=more, daemon=True).start()\n"
        "    comm.barrier()\n    return batch\n"
    ),
    "background that never ends": (
        "    def wait(comm):\n        while True:\n            pass\n"
        "    comm.background(wait).wait()\n    return batch\n"
    ),
    "no tensor": "    comm.send('tensor', (comm.rank + 1) % comm.size)\n    return batch\n",
    "numbers through shared memory, zeros as messages": (
        "    buffers = type(comm).shared(comm, (rows * width,))\n    if comm.rank == 0:\n"
        "        buffers[0].copy_(batch.reshape(-1))\n        bounds = [rows * r // comm.size "
        "for r in range(comm.size + 1)]\n        for to in range(1, comm.size):\n            "
        "comm.send(torch.zeros(bounds[to + 1] - bounds[to], width), to)\n    else:\n        "
        "comm.recv(0)\n    own = slice(rows * comm.rank // comm.size, rows * (comm.rank + 1) // "
        "comm.size)\n    return buffers[0].view(rows, width)[own].clone()\n"
    ),
    "changes shared memory": (
        "    import os\n    type(comm).shared(comm, (4,))\n"
        "    for name in os.listdir('/proc/self/fd'):\n        try:\n"
        "            os.truncate(f'/proc/self/fd/{name}', 1 << 40)\n"
        "            os.truncate(f'/proc/self/fd/{name}', 0)\n        except OSError:\n"
        "            pass\n    comm.barrier()\n    return batch\n"
    ),
}


def _ranks(name: str, body: str) -> Attack:
    code = f"import torch\n\n\ndef scatter(comm, batch, rows, width):\n{body}"
    return Attack(f"ranks, {name}", [right("fit"), code], full=("fit",))


AMONG_RANKS: list[Attack] = [_ranks(name, body) for name, body in RANKS.items()]
