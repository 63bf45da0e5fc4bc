"""Replies written straight to the judge's socket: forged, doubled, oversized, nested, no JSON.

The student's code finds the connection of its own process and speaks in its stead. Nothing that
it says may be worth a point, and nothing may stop the judge.
"""

from __future__ import annotations

from hostile.submission import Attack, right, source


def connection(at="call"):
    """The connection to the judge, and how to write to it."""
    import json
    import struct
    import sys

    frame = sys._getframe()
    while frame is not None:
        child, message = frame.f_locals.get("self"), frame.f_locals.get("message")
        if hasattr(child, "frames") and isinstance(message, dict) and at in message:
            break
        frame = frame.f_back

    class Connection:
        socket = child.frames.socket

        def raw(self, data):
            self.socket.settimeout(None)
            self.socket.sendall(data)

        def text(self, text):
            body = text if isinstance(text, bytes) else text.encode()
            self.raw(struct.pack(">I", len(body)) + body)

        def ask(self, op, *args):
            self.text(json.dumps({"op": op, "args": args}))

        def seen(self, values, **others):
            told = {"trouble": "", "kind": "", "text": "", "line": 0, "values": values}
            told["written"] = None
            self.ask("end", told | others)

    return Connection()


# --- in place of a plain function's reply; `link` is the connection ---

PLAIN = {
    "forged pass": "link.ask('passed', 100)",
    "trouble that only the judge sees": "link.seen([], trouble='timeout')",
    "no JSON": "link.text(b'\\xff\\xfe\\x00{')",
    "NaN in an array": ("link.seen([{'array': ['float64', [2], 'AAAAAAAA+H8AAAAAAAD4fw==']}])"),
    "nested a million deep": "link.text('[' * 1_000_000)",
    "many empty lists": "link.text(b'[' + b'[],' * 30_000_000 + b'1]')",
    "array larger than its data": "link.seen([{'array': ['float64', [8_000_000], 'AAAA']}])",
    "text too long": "link.seen(['x' * 5_000_000], kind='k' * 5_000_000)",
    "closed": "link.socket.close()",
    "flood": "while True:\n    link.text(b'{}' * 1000)",
}

# --- in place of a rank's requests: what rank 0 says in `scatter` ---

RANKED = {
    "something that is not handed over": "link.ask('hand', 'noted', [1], [])",
    "returns twice": "link.seen([None]); link.seen([None])",
    "an unknown request": "link.ask('points', 100)",
    "a wait for nothing": "link.ask('wait', 12345, True)",
    "a send to itself": (
        "link.ask('isend', 1, 0, ['torch', 'uint8', [1], 'AA==']); link.ask('wait', 1, True)"
    ),
    "a tensor of code": "link.ask('isend', 1, 1, ['torch', 'load', [1], 'AA=='])",
    "a tensor of another size": "link.ask('isend', 1, 1, ['torch', 'float32', [4], 'AAAA'])",
    "seconds below none": "link.ask('compute', -1.0, True)",
    "shared memory again and again": "[link.ask('shared', [2**20], 'uint8') for _ in range(2000)]",
    "sends that nobody receives": (
        "data = ['torch', 'uint8', [3_000_000], 'A' * 4_000_000]\n"
        "for n in range(10_000):\n    link.ask('isend', n, 1, data)"
    ),
    "asks whether it is done, for ever": (
        "link.ask('irecv', 1, 1)\nwhile True:\n    link.ask('done', 1)"
    ),
}

# --- while the cells run: what a process says of them, before its answers, which are right ---

CELLS = {
    "forged states": "link.ask('end', {'scatter': 'there'})",
    "states of markup": (
        "link.ask('end', dict.fromkeys(NAMES, ['<script>', '\\ud800' * 99, -7, 10**400]))"
    ),
    "no states": "link.ask('end', None)",
    "places without end": "while True:\n    link.ask('at', 0, 0)",
    "another place each time": (
        "import os, random\nlink.ask('at', random.getrandbits(30), os.getpid())\nos._exit(0)"
    ),
}


def _indented(code: str, by: str) -> str:
    return "".join(f"{by}{line}\n" for line in code.splitlines())


def _plain(name: str, code: str) -> Attack:
    body = "def fit(sizes, seconds):\n    link = connection()\n" + _indented(code, "    ")
    body += "    import time\n    time.sleep(0.5)\n    return None\n"
    cells = [source(connection), right("scatter"), body]
    return Attack(f"reply, {name}", cells, either=("scatter",))


def _ranked(name: str, code: str) -> Attack:
    body = "def scatter(comm, batch, rows, width):\n    link = connection()\n"
    body += "    if comm.rank == 0:\n" + _indented(code, "        ")
    body += "    import time\n    time.sleep(0.5)\n    return batch\n"
    cells = [source(connection), right("fit"), body]
    return Attack(f"request, {name}", cells, either=("fit",))


def _cells(name: str, code: str) -> Attack:
    names = ["scatter", "broadcast_tree", "all_reduce_ring", "fit", "all_reduce_shared"]
    body = _indented(f"link = connection('cells')\n{code}", "    ")
    start = f"{source(connection)}\nNAMES = {names!r}\n\n\ndef attack():\n{body}\n\n"
    cells = [f"{start}scatter = fit = attack()", right("scatter"), right("fit")]
    return Attack(f"cells, {name}", cells, either=("scatter", "fit"))


# What a submission says out of turn may be taken for the answer of its next exercise.
REPLIES: list[Attack] = [
    *(_plain(name, code) for name, code in PLAIN.items()),
    *(_ranked(name, code) for name, code in RANKED.items()),
    *(_cells(name, code) for name, code in CELLS.items()),
]
