"""Replies written straight to the judge's socket: forged, doubled, oversized, nested, no JSON.

The student's code finds the connection of its own process and speaks in its stead. Nothing that
it says may be worth a point, and nothing may stop the judge.
"""

from __future__ import annotations

from hostile.submission import Attack, right, source


def connection(at="call"):
    """The connection to the judge, the number of the call under way, and how to write to it."""
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
        call = message.get("call", 0)
        socket = child.frames.socket

        def raw(self, data):
            self.socket.settimeout(None)
            self.socket.sendall(data)

        def text(self, text):
            body = text if isinstance(text, bytes) else text.encode()
            self.raw(struct.pack(">I", len(body)) + body)

        def say(self, **words):
            self.text(json.dumps({"call": self.call, "lane": 0} | words))

        def seen(self, values, **others):
            told = {"trouble": "", "kind": "", "text": "", "line": 0, "values": values}
            self.say(seen=told | others)

        def ask(self, op, *args):
            self.say(op=op, args=list(args))

    return Connection()


# --- in place of a plain function's reply; `link` is the connection ---

PLAIN = {
    "forged pass": "link.say(passed=True, status='passed', points=100, seen='passed')",
    "forged verdict in the values": "link.seen([{'dict': [['status', 'passed'], ['points', 9]]}])",
    "forged trouble": "link.seen([], trouble='passed')",
    "trouble that only the judge sees": "link.seen([], trouble='timeout')",
    "not done": "link.seen([], trouble='not done', text='is not done yet')",
    "trouble of another type": "link.seen([], trouble=['x'], kind=3, text=None, line='7')",
    "line far away": "link.seen([], trouble='failed', kind='E', text='', line=10**18)",
    "huge line": "link.seen([], trouble='failed', kind='E', text='', line=10**4000)",
    "doubled": "[link.seen([[1e-5, 1e-9]]) for _ in range(50)]",
    "of the next calls too": (
        "first = link.call\n"
        "for link.call in range(first, first + 100):\n    link.seen([{'tuple': [1e-5, 1e-9]}])"
    ),
    "of an earlier call": "link.call -= 1; link.seen([[0.0, 0.0]])",
    "call that is no integer": "link.call = float(link.call); link.seen([[0.0, 0.0]])",
    "call that is true": "link.call = True; link.seen([[0.0, 0.0]])",
    "lane that there is not": "link.say(lane=7, seen=None)",
    "no key that is known": "link.text('{}')",
    "a list": "link.text('[]')",
    "a number": "link.text('1e999')",
    "no JSON": "link.text(b'\\xff\\xfe\\x00{')",
    "nothing at all": "link.text('')",
    "keys doubled": 'link.text(\'{"call": %d, "call": %d}\' % (link.call, link.call))',
    "NaN": 'link.text(\'{"call": %d, "lane": 0, "seen": NaN}\' % link.call)',
    "number too large": 'link.text(\'{"call": %d, "lane": 0, "seen": 1e999}\' % link.call)',
    "NaN in an array": ("link.seen([{'array': ['float64', [2], 'AAAAAAAA+H8AAAAAAAD4fw==']}])"),
    "integer of many digits": "link.text('[' + '9' * 5_000_000 + ']')",
    "nested a million deep": "link.text('[' * 1_000_000)",
    "objects nested": "link.text('{\"a\":' * 500_000 + '1' + '}' * 500_000)",
    "values nested": (
        "deep = 1.0\nfor _ in range(40):\n    deep = {'tuple': [deep, deep][:1]}\nlink.seen([deep])"
    ),
    "many empty lists": "link.text(b'[' + b'[],' * 30_000_000 + b'1]')",
    "many short texts": "link.text(b'[' + b'\"ab\",' * 18_000_000 + b'1]')",
    "many keys": ("link.text('{' + ','.join(f'\"{n}\":{n}' for n in range(3_000_000)) + '}')"),
    "longer than a message may be": "link.raw(b'\\xff\\xff\\xff\\xff' + b'x' * 100_000)",
    "array larger than its data": "link.seen([{'array': ['float64', [8_000_000], 'AAAA']}])",
    "array of a negative shape": "link.seen([{'array': ['float64', [-1, -1], 'AAAAAAAA']}])",
    "array of a huge shape": "link.seen([{'array': ['uint8', [0] + [2**26] * 15, '']}])",
    "array of objects": "link.seen([{'array': ['object', [1], 'AAAAAAAAAAA=']}])",
    "array of text": "link.seen([{'array': ['<U2', [1], 'AAAAAAAAAAA=']}])",
    "many arrays": (
        "link.seen([{'array': ['uint8', [30_000_000], 'A' * 40_000_000]} for _ in range(2)])"
    ),
    "no base64": "link.seen([{'array': ['uint8', [1], '\\u00e9\\u00e9\\u00e9\\u00e9']}])",
    "dictionary of itself": "link.seen([{'dict': [[{'tuple': []}, 1]]}])",
    "other of another type": "link.seen([{'other': ['x']}])",
    "number by another name": "link.seen([{'number': ['nan']}])",
    "surrogates": 'link.text(\'{"call": %d, "lane": 0, "seen": "\\\\ud800"}\' % link.call)',
    "text of surrogates": "link.seen([], trouble='failed', kind='\\ud800', text='\\udfff' * 99)",
    "text too long": "link.seen(['x' * 5_000_000], kind='k' * 5_000_000)",
    "half a message": "link.raw(b'\\x00\\x00\\x10\\x00{\"call\"'); link.socket.close()",
    "closed": "link.socket.close()",
    "shut down": "link.socket.shutdown(2)",
    "never read again": "link.socket.shutdown(0)",
    "descriptors sent along": (
        "import array, os, socket\n"
        "held = array.array('i', [os.open('/dev/null', 0) for _ in range(100)])\n"
        "for _ in range(20):\n"
        "    link.socket.sendmsg([b'\\x00'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, held)])"
    ),
    "flood": "while True:\n    link.text(b'{}' * 1000)",
    "flood of one call": "while True:\n    link.say(at=1)",
}

# --- in place of a rank's requests: what rank 0 says in `scatter` ---

RANKED = {
    "returns at once": "link.ask('return', [[1.0]])",
    "returns twice": "link.ask('return', None); link.ask('return', None)",
    "returns nothing": "link.ask('return')",
    "returns many things": "link.ask('return', 1, 2, 3)",
    "an unknown request": "link.ask('points', 100)",
    "a request that is private": "link.ask('_begin', 1, 2)",
    "a request that is no word": "link.say(op=['isend'], args=[])",
    "arguments that are none": "link.say(op='isend', args=3)",
    "too few arguments": "link.ask('isend', 1)",
    "a wait for nothing": "link.ask('wait', 12345, True)",
    "a wait for a negative number": "link.ask('wait', -1, True)",
    "a wait for what is no number": "link.ask('wait', [1], True)",
    "the same number twice": "link.ask('irecv', 7, 1); link.ask('irecv', 7, 1)",
    "a send to nobody": "link.ask('isend', 1, 99, ['torch', 'uint8', [1], 'AA=='])",
    "a send to true": "link.ask('isend', 1, True, ['torch', 'uint8', [1], 'AA=='])",
    "a send to itself": (
        "link.ask('isend', 1, 0, ['torch', 'uint8', [1], 'AA==']); link.ask('wait', 1, True)"
    ),
    "a receive from itself": "link.ask('irecv', 1, 0); link.ask('wait', 1, True)",
    "a tensor of code": "link.ask('isend', 1, 1, ['torch', 'load', [1], 'AA=='])",
    "a tensor of tensorflow": "link.ask('isend', 1, 1, ['tensorflow', 'float32', [1], 'AAAAAA=='])",
    "a tensor of one bit": "link.ask('isend', 1, 1, ['torch', 'int1', [1], 'AA=='])",
    "a tensor of bits": "link.ask('isend', 1, 1, ['torch', 'bits16', [1], 'AAA='])",
    "a tensor of quarters": "link.ask('isend', 1, 1, ['torch', 'float4_e2m1fn_x2', [1], 'AA=='])",
    "a tensor of halves": "link.ask('isend', 1, 1, ['torch', 'complex32', [1], 'AAAAAA=='])",
    "a tensor of more than base64": (
        "link.ask('isend', 1, 1, ['torch', 'uint8', [3], '\\u4e2d' * 4])"
    ),
    "a tensor of another size": "link.ask('isend', 1, 1, ['torch', 'float32', [4], 'AAAA'])",
    "a tensor of a negative shape": "link.ask('isend', 1, 1, ['torch', 'uint8', [-1], ''])",
    "a tensor of many axes": "link.ask('isend', 1, 1, ['torch', 'uint8', [1] * 1000, 'AA=='])",
    "a tensor without elements": (
        "link.ask('isend', 1, 1, ['torch', 'uint8', [0, 2**25, 2**25], ''])"
    ),
    "a tensor of booleans": "link.ask('isend', 1, 1, ['torch', 'bool', [3], 'AgME'])",
    "seconds below none": "link.ask('compute', -1.0, True)",
    "seconds without end": "link.ask('compute', {'number': 'inf'}, True)",
    "seconds that are none": "link.ask('compute', {'number': 'nan'}, True)",
    "seconds as a tuple": "link.ask('compute', {'tuple': [1.0]}, True)",
    "more seconds than there are": (
        "[link.ask('compute', 1.7e308, True) for _ in range(9)]; link.ask('time')"
    ),
    "shared memory of a huge shape": "link.ask('shared', [2**25, 2**25], 'float64')",
    "shared memory of no shape": "link.ask('shared', 'x', 'float64')",
    "shared memory of no type": "link.ask('shared', [1], 'float')",
    "shared memory again and again": "[link.ask('shared', [2**20], 'uint8') for _ in range(2000)]",
    "background without end": "[link.ask('background', n) for n in range(5000)]",
    "ended without a beginning": "link.say(lane=1, op='ended', args=[])",
    "a background on the other lane": (
        "link.ask('background', 1); link.say(lane=1, op='background', args=[2])"
    ),
    "a communication thread that never ends": (
        "link.ask('background', 1); link.ask('wait', 1, True)"
    ),
    "sends that nobody receives": (
        "data = ['torch', 'uint8', [3_000_000], 'A' * 4_000_000]\n"
        "for n in range(10_000):\n    link.ask('isend', n, 1, data)"
    ),
    "asks and never reads": "while True:\n    link.ask('time')",
    "asks whether it is done, for ever": (
        "link.ask('irecv', 1, 1)\nwhile True:\n    link.ask('done', 1)"
    ),
    "barriers that nobody comes to": "[link.ask('barrier', True) for _ in range(1000)]",
    "another rank's name": "link.say(rank=1, op='return', args=[None])",
    "trouble of its own making": "link.ask('trouble', {'trouble': 'passed'})",
    "trouble that is a time-out": (
        "link.ask('trouble', {'trouble': 'deadlock', 'kind': '', 'text': '', 'line': 0, "
        "'values': []})"
    ),
}

# --- while the cells run: what a process says of them, before its answers, which are right ---

CELLS = {
    "forged states": "link.say(cells={'scatter': 'there'}, chosen=[])",
    "states of everything": "link.say(cells=dict.fromkeys(NAMES, 'there'), chosen=[])",
    "states that are none": "link.say(cells=dict.fromkeys(NAMES, 7), chosen=[])",
    "states of markup": (
        "link.say(cells=dict.fromkeys(NAMES, ['<script>', '\\ud800' * 99, -7, 10**400]), chosen=[])"
    ),
    "cells that were skipped": (
        "link.say(cells=dict.fromkeys(NAMES, ['skipped', '', 0, 0]), chosen=[[0, 0]])"
    ),
    "no states": "link.say(cells=None)",
    "chosen cells that there are not": (
        "link.say(cells=dict.fromkeys(NAMES, 'there'), chosen=[[10**9, -5]] * 1000)"
    ),
    "chosen cells without end": (
        "link.say(cells=dict.fromkeys(NAMES, 'there'), chosen=[[0, n] for n in range(200_000)])"
    ),
    "places that are none": "link.say(at='here')",
    "places without end": "while True:\n    link.say(at=[0, 0])",
    "another place each time": (
        "import os, random\nlink.say(at=[random.getrandbits(30), os.getpid()])\nos._exit(0)"
    ),
    "a return before any call": "link.say(op='return', args=[None])",
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
    start = f"{source(connection)}\nNAMES = {names!r}\nlink = connection('cells')\n{code}\n"
    cells = [f"exec({start!r}, globals())", right("scatter"), right("fit")]
    return Attack(f"cells, {name}", cells, either=("scatter", "fit"))


# What a submission says out of turn may be taken for the answer of its next exercise.
REPLIES: list[Attack] = [
    *(_plain(name, code) for name, code in PLAIN.items()),
    *(_ranked(name, code) for name, code in RANKED.items()),
    *(_cells(name, code) for name, code in CELLS.items()),
]
