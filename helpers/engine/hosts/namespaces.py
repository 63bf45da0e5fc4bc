"""Network namespaces for hosts, in one user namespace: no root, no name, no file.

Each host is a namespace with one interface, a veth pair whose other end is a port of a bridge. A
token bucket at either end shapes one direction. Descriptors alone keep it all: it is gone with the
last process that holds them, however that ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from helpers.engine.hosts.network import INTERFACE, MAX_HOSTS, Network, address
from helpers.engine.plan import START, forks

SWITCH = "COURSE_HOSTS"  # "clock": as on a machine without namespaces
_NEWNS, _NEWUTS, _NEWUSER, _NEWNET = 0x0002_0000, 0x0400_0000, 0x1000_0000, 0x4000_0000
_MS_BIND, _MNT_DETACH = 4096, 2
_BURST_SECONDS = 0.002  # of a link's bandwidth that its bucket holds: what a late timer may miss
_LEAST_BURST = 64 * 1024
_LARGEST_PIECE = 64 * 1024  # of a stream that the kernel hands on as one packet
_QUEUE = "500ms"  # deep enough that nothing is lost where many send to one
_TCP = {
    "tcp_slow_start_after_idle": "0",  # or each step would begin slowly after its computing
    "tcp_congestion_control": "reno",  # cubic and bbr leave a link idle that carries both ways
}


_made: list[Namespaces] = []  # by this process, or by the one it was forked from


class Missing(Exception):
    """Why this machine gives no namespaces, and what can be done about it."""


class Host(NamedTuple):
    """A host: its namespace, a way to configure it, its interface there and its port here."""

    namespace: int
    inside: Any
    interface: int
    port: int


class Namespaces:
    """Hosts that this process makes as they are asked for. It must have one thread.

    Raises Missing where the machine gives no namespaces.
    """

    def __init__(self) -> None:
        why = refused()
        if why:
            raise Missing(why)
        try:
            _own_namespaces()
            from pyroute2 import IPRoute

            self._route = IPRoute()
            self._hosts: list[Host] = []
            self._shaped: list[float | None] = []
            self._route.link("add", ifname="switch", kind="bridge")
            (self._bridge,) = self._route.link_lookup(ifname="switch")
            for index in (1, self._bridge):
                self._route.link("set", index=index, state="up")
            self._shape(0, 1e9)  # a kernel without token buckets says so now
        except Exception as error:
            raise Missing(_advice(error)) from error
        _made.append(self)
        with contextlib.suppress(OSError):  # without it gloo says that names are missing, no more
            _name_hosts()

    def prepare(self, network: Network) -> None:
        """Have the network's hosts, their links shaped as it says. Raises OSError for a refusal."""
        try:
            for number, bandwidth in enumerate(network.bandwidth):
                self._shape(number, bandwidth)
        except Exception as error:  # pyroute2's own are no OSError
            raise OSError(f"{len(network.bandwidth)} hosts cannot be made: {error}") from error

    def enter(self, number: int) -> None:
        """Move this process, which has one thread, onto a host."""
        _call("setns", self._hosts[number].namespace, _NEWNET)
        _call("unshare", _NEWUTS)
        socket.sethostname(f"host{number}")

    def _make(self, number: int) -> Host:
        from pyroute2 import IPRoute

        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        try:
            _call("unshare", _NEWNET)
            namespace = os.open("/proc/self/ns/net", os.O_RDONLY)
            for name, value in _TCP.items():
                with contextlib.suppress(OSError):  # a container may show its settings, no more
                    Path("/proc/sys/net/ipv4", name).write_text(value)
            inside = IPRoute()  # its socket stays in the namespace in which it was opened
        finally:
            _call("setns", home, _NEWNET)
            os.close(home)
        port = f"port{number}"
        peer = {"ifname": INTERFACE, "net_ns_fd": namespace}
        self._route.link("add", ifname=port, kind="veth", peer=peer)
        (outer,) = self._route.link_lookup(ifname=port)
        self._route.link("set", index=outer, master=self._bridge, state="up")
        (inner,) = inside.link_lookup(ifname=INTERFACE)
        inside.addr("add", index=inner, address=address(number), prefixlen=24)
        for index in (1, inner):
            inside.link("set", index=index, state="up")
        return Host(namespace, inside, inner, outer)

    def _shape(self, number: int, bandwidth: float | None) -> None:
        while len(self._hosts) <= number:
            self._hosts.append(self._make(len(self._hosts)))
            self._shaped.append(None)
        host = self._hosts[number]
        if self._shaped[number] == bandwidth:
            return
        for route, index in ((host.inside, host.interface), (self._route, host.port)):
            if bandwidth is None:
                route.tc("del", index=index, root=True)
                continue
            burst = max(_LEAST_BURST, int(bandwidth * _BURST_SECONDS))
            # A packet above the bucket is cut up, and each of its parts is acknowledged.
            route.link("set", index=index, gso_max_size=min(_LARGEST_PIECE, burst // 2))
            rate = {"rate": int(bandwidth), "burst": burst, "latency": _QUEUE}
            route.tc("replace", "tbf", index, 0x10000, **rate)
        self._shaped[number] = bandwidth


def be_on(host: int) -> None:
    """Move this process onto a host of the namespaces that it was forked inside of."""
    _made[-1].enter(host)


def refused() -> str:
    """Why no namespace is even tried; "" where one is."""
    if os.environ.get(SWITCH) == "clock":
        return f"they are switched off by {SWITCH}=clock"
    if sys.platform != "linux":
        return f"network namespaces are Linux's, and this is {sys.platform}"
    if not forks():
        return f"a rank comes to its host by being forked, and {START}=spawn forks none"
    return ""


def _advice(error: Exception) -> str:
    """What an error means for whoever wants hosts."""
    if isinstance(error, ImportError):
        return f"{error}; `./course lab` installs it"
    number = getattr(error, "code", None) or getattr(error, "errno", None)
    text = os.strerror(number) if isinstance(number, int) else str(error)
    return (
        f"the kernel refuses network namespaces ({text}). Whoever administers the machine can "
        "allow them: `sysctl user.max_user_namespaces=10000`, on Ubuntu also "
        "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`; a container needs `--privileged`"
    )


def _own_namespaces() -> None:
    """Put this process into a user, a mount and a network namespace of its own, as who it is."""
    user, group = os.geteuid(), os.getegid()
    _call("unshare", _NEWUSER | _NEWNS | _NEWNET)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path("/proc/self", name).write_text(text)


def _name_hosts() -> None:
    """Put the hosts' names into an /etc/hosts that this namespace alone sees."""
    lines = ["127.0.0.1 localhost"]
    for number in range(MAX_HOSTS):  # as IPv6 writes it, too: torch listens for both
        lines += [f"{prefix}{address(number)} host{number}" for prefix in ("", "::ffff:")]
    folder = tempfile.gettempdir().encode()
    _call("mount", b"tmpfs", folder, b"tmpfs", 0, None)
    try:
        file = Path(os.fsdecode(folder), "hosts")
        file.write_text("\n".join(lines) + "\n")
        file.chmod(0o644)
        _call("mount", os.fsencode(file), b"/etc/hosts", None, _MS_BIND, None)
    finally:
        _call("umount2", folder, _MNT_DETACH)


def _call(name: str, *arguments: Any) -> None:
    """Call a function of the C library. Raises OSError where it fails."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def missing() -> str:
    """Why hosts cannot be had here, in a process that is left as it was; "" where they can."""
    import subprocess

    command = [sys.executable, "-m", "helpers.engine.hosts.namespaces"]
    root = str(Path(__file__).resolve().parents[3])
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True
    )
    return done.stdout.strip() if not done.returncode else done.stderr.strip().splitlines()[-1]


if __name__ == "__main__":
    try:
        Namespaces()
    except Missing as why:
        print(why)
