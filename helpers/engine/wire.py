"""How functions and values travel between processes: cloudpickle, with big arrays beside it.

A value is pickled with its arrays left out of the stream (pickle protocol 5, PEP 574). Arrays go
into an anonymous file, whose descriptor travels over a Unix socket; the receiver maps the file
and builds the tensors on top of it, so nothing big is ever copied through a pipe.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
import struct
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
import numpy as np

from helpers.engine.tensors import memory_of

INLINE_BYTES = 1 << 16
_ALIGN = 64
_IN_MEMORY = "/dev/shm"
HEAD = struct.Struct("!QB")  # before each message: how long it is, and how many descriptors come
# Of classes that were written in a cell: what was sent from here, and of what copies are copies.
_sent: weakref.WeakSet[type] = weakref.WeakSet()
_originals: weakref.WeakKeyDictionary[type, type] = weakref.WeakKeyDictionary()


def anonymous_file(size: int = 0) -> int:
    """The descriptor of a file in memory that has no name, so that nothing can be left behind."""
    try:
        fd = os.memfd_create("course", os.MFD_CLOEXEC)
    except (AttributeError, PermissionError):  # not on this system, or not in a sandbox
        with tempfile.TemporaryFile(dir=_IN_MEMORY if os.path.isdir(_IN_MEMORY) else None) as file:
            fd = os.dup(file.fileno())
    if size:
        os.ftruncate(fd, size)
    return fd


class Pickler(cloudpickle.CloudPickler):
    """cloudpickle that hands out a torch tensor's memory as a buffer instead of copying it.

    A class of a cell that comes back with a value is the notebook's own, as it is there.
    """

    def reducer_override(self, obj: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is not None and type(obj) in (torch.Tensor, torch.nn.Parameter):
            plain = obj.layout is torch.strided and not obj.is_quantized
            if plain and obj.device.type != "meta":
                return _reduce_tensor(torch, obj)
        if getattr(obj, "__name__", "") == "get_ipython" and hasattr(obj, "__self__"):
            return _of_a_rank, ()  # what `!command` and `%magic` ask for in a cell
        reduced = super().reducer_override(obj)
        return for_ranks(obj, reduced) if is_sent_by_value(reduced) else reduced


def _reduce_tensor(torch: Any, tensor: Any) -> tuple[Any, ...]:
    data: Any = memory_of(tensor.detach().cpu().resolve_conj().resolve_neg().contiguous())
    parameter = type(tensor) is torch.nn.Parameter
    grad = tensor.is_leaf and tensor.requires_grad
    dtype = str(tensor.dtype).removeprefix("torch.")
    return _rebuild_tensor, (pickle.PickleBuffer(data), dtype, tuple(tensor.shape), grad, parameter)


def _rebuild_tensor(
    data: Any, dtype: str, shape: tuple[int, ...], grad: bool, parameter: bool
) -> Any:
    import torch

    kind = getattr(torch, dtype)
    view = memoryview(data)
    tensor = torch.frombuffer(view, dtype=kind) if view.nbytes else torch.empty(0, dtype=kind)
    tensor = tensor.reshape(shape)
    return torch.nn.Parameter(tensor, grad) if parameter else tensor.requires_grad_(grad)


def _of_a_rank() -> Callable[[], Any]:
    """`get_ipython`, as a rank has it."""
    return no_ipython


def no_ipython() -> Any:
    """Raises RuntimeError: a rank is no notebook."""
    raise RuntimeError(
        "`!command` and `%magic` are the notebook's own, and a rank has none: call "
        "`subprocess.run` there, or `time.perf_counter` in the place of %timeit."
    )


class Parcel:
    """A pickled value: `head` goes over a socket; `fd`, where there is one, holds the arrays."""

    def __init__(self, head: bytes, fd: int | None) -> None:
        self.head = head
        self.fd = fd

    def close(self) -> None:
        """Close the descriptor; the file lives on where it has been sent to."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


def pack_value(value: Any) -> Parcel:
    """Pickle a value. Raises what pickling raises, such as TypeError for an open file or a lock."""
    buffers: list[pickle.PickleBuffer] = []
    stream = io.BytesIO()
    Pickler(stream, protocol=5, buffer_callback=buffers.append).dump(value)
    raws = [buffer.raw() for buffer in buffers]
    if sum(raw.nbytes for raw in raws) + stream.tell() <= INLINE_BYTES:
        parts = [bytearray(raw) for raw in raws]
        return Parcel(pickle.dumps((stream.getvalue(), parts, None), protocol=5), None)
    spans, at = [], 0
    for raw in (memoryview(stream.getbuffer()), *raws):
        spans.append((at, raw.nbytes))
        at += -(-raw.nbytes // _ALIGN) * _ALIGN
    fd = anonymous_file(max(at, 1))
    try:
        with mmap.mmap(fd, max(at, 1)) as memory:
            target = np.frombuffer(memory, np.uint8)
            try:
                for (start, length), raw in zip(spans, (stream.getbuffer(), *raws), strict=True):
                    target[start : start + length] = np.frombuffer(raw, np.uint8)
            finally:
                del target  # memory that an array lies on cannot be closed
    except BaseException:  # an interrupt, too
        os.close(fd)
        raise
    return Parcel(pickle.dumps((b"", [], spans), protocol=5), fd)


def unpack_value(parcel: Parcel, mapped: bool = True) -> Any:
    """The value of a parcel; its arrays are this process's own.

    mapped: the file's own pages, copied when they are written to, which costs a descriptor as long
    as an array lives; otherwise a copy. The parcel stays open: several processes may unpack the
    same one.
    """
    stream, parts, spans = pickle.loads(parcel.head)
    if spans is None:
        return pickle.loads(stream, buffers=parts)
    assert parcel.fd is not None
    memory = memoryview(mmap.mmap(parcel.fd, 0, access=mmap.ACCESS_COPY))
    if not mapped:
        file = memory
        memory = memoryview(mmap.mmap(-1, file.nbytes, flags=mmap.MAP_PRIVATE))
        memory[:] = file
    pieces = [memory[start : start + length] for start, length in spans]
    return pickle.loads(pieces[0], buffers=pieces[1:])


def send_message(sock: socket.socket, message: bytes, fds: tuple[int, ...] = ()) -> None:
    """Send bytes and file descriptors over a Unix stream socket."""
    head = HEAD.pack(len(message), len(fds))
    sent = socket.send_fds(sock, [head], list(fds)) if fds else sock.send(head)
    if sent < len(head):
        sock.sendall(head[sent:])
    sock.sendall(message)


def receive_message(sock: socket.socket) -> tuple[bytes, list[int]]:
    """The next message and its descriptors. Raises EOFError where the other side has gone."""
    head, fds = b"", []
    while len(head) < HEAD.size:
        part, new, _, _ = socket.recv_fds(sock, HEAD.size - len(head), 253)
        for fd in new:
            os.set_inheritable(fd, False)
        fds += new
        if not part:
            raise EOFError("the other side of the socket has gone")
        head += part
    length, count = HEAD.unpack(head)
    if len(fds) != count:
        raise EOFError(f"{len(fds)} of {count} file descriptors arrived")
    body = bytearray(length)
    view, at = memoryview(body), 0
    while at < length:
        got = sock.recv_into(view[at:])
        if not got:
            raise EOFError("the other side of the socket has gone")
        at += got
    return bytes(body), fds


def pack_function(fn: Callable[..., Any], args: Sequence[Any]) -> Parcel:
    """Pickle the function and its arguments for the ranks. Raises TypeError where that fails."""
    try:
        return pack_value((fn, tuple(args)))
    except Exception as error:
        raise TypeError(
            f"{getattr(fn, '__name__', fn)!s} or an argument cannot be sent to the ranks: {error}. "
            "Open files, locks and generators stay in the notebook: make them inside the function."
        ) from error


# --- classes that were written in a cell ----------------------------------------------------------

# Such a class cannot be imported where it arrives, so cloudpickle sends what it is made of. Where
# it is known already, that is put into the class anew: methods whose globals are copies, attributes
# as they were when it was sent. The notebook's own classes must not change by a run, nor those of
# another rank in the same process.


def is_sent_by_value(reduced: Any) -> bool:
    """Whether a reduction, cloudpickle's or one made here, is of a class that nobody can import."""
    fills = (cloudpickle.cloudpickle._class_setstate, set_state)
    return isinstance(reduced, tuple) and len(reduced) == 6 and reduced[5] in fills


def for_ranks(cls: type, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """The reduction of a class that leaves it alone where it comes back to this process."""
    _sent.add(cls)
    return (*reduced[:5], set_state)


def set_state(cls: type, state: Any) -> type:
    """Fill a class that has arrived, unless this process has sent it."""
    return cls if cls in _sent else cloudpickle.cloudpickle._class_setstate(cls, state)


def for_copy(original: Any, reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """The reduction of a class that makes a copy each time. original: stands for the class."""
    make, how, *rest = anew(reduced)
    return (copy_class, (original, make, how), *rest)


def anew(reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """The reduction of a class that makes a new one, and does not look for it in this process."""
    make, (*how, _, extra), *rest = reduced
    return (make, (*how, None, extra), *rest)


def copy_class(original: type, make: Callable[..., type], how: tuple[Any, ...]) -> type:
    """A new class, still empty, of which `original_of` knows what it is a copy of."""
    copy = make(*how)
    _originals[copy] = original
    return copy


def original_of(obj: Any) -> type | None:
    """The class of which this is a copy."""
    return _originals.get(obj) if isinstance(obj, type) else None
