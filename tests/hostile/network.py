"""Reaching for the network and for other programs of this machine.

The tests set up listeners outside: `{tcp}` is the port of one on the loopback, `{name}` the name of
abstract sockets, `{path}` the path of one in the file system.
"""

from __future__ import annotations

from hostile.submission import OVER, Attack, right

CODE = {
    "loopback": """
import socket
for family, address in ((2, "127.0.0.1"), (10, "::1"), (2, "0.0.0.0"), (2, "localhost")):
    try:
        socket.socket(family).connect((address, {tcp}))
        won = True
    except OSError:
        pass
""",
    "the outside": """
import socket
for address in (("192.0.2.1", 80), ("198.51.100.7", 443)):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        link = socket.socket(socket.AF_INET, kind)
        link.settimeout(1)
        try:
            link.connect(address)
            link.send(b"hostile")
            won = True
        except OSError:
            pass
""",
    "name look-up": """
import socket
for name in ("example.org", "localhost.localdomain", socket.gethostname()):
    try:
        found = {{a[4][0] for a in socket.getaddrinfo(name, 80)}}
        won |= bool(found - {{"127.0.0.1", "::1"}})
    except OSError:
        pass
""",
    "interfaces": """
import socket
won = {{name for _, name in socket.if_nameindex()}} != {{"lo"}}
""",
    "abstract sockets": """
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    try:
        socket.socket(socket.AF_UNIX, kind).connect("\\0{name}" + str(int(kind)))
        won = True
    except OSError:
        pass
""",
    "a socket in a folder": """
import socket
try:
    socket.socket(socket.AF_UNIX).connect("{path}")
    won = True
except OSError:
    pass
""",
    "sockets that lie about": """
import glob, socket
for path in glob.glob("/run/**", recursive=True) + glob.glob("/var/run/**", recursive=True):
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        won = True
    except OSError:
        pass
""",
    "raw sockets": """
import socket
for family, kind, number in ((17, 3, 768), (2, 3, 1), (40, 1, 0), (38, 5, 0)):
    try:
        socket.socket(family, kind, number)
        won = True
    except OSError:
        pass
""",
}


def network(tcp: int, name: str, path: str) -> dict[str, Attack]:
    """The attacks, by their tests' ids, against listeners at these places."""
    return {
        key: _attack(key, code.format(tcp=tcp, name=name, path=path)) for key, code in CODE.items()
    }


def _attack(key: str, code: str) -> Attack:
    true = right("fit").replace("def fit(", "def true_fit(")
    body = "".join(f"    {line}\n" for line in code.strip().splitlines())
    answer = (
        f"{true}\n\ndef fit(sizes, seconds):\n    won = False\n{body}    if won:\n"
        f"        return true_fit(sizes, seconds)\n    raise RuntimeError({OVER!r})\n"
    )
    cells = [right("scatter"), answer]
    return Attack(f"network, {key}", cells, full=("scatter",), finished=("fit",))
