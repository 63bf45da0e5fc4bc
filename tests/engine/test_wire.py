"""What goes over a socket, whatever pieces the socket takes."""

from __future__ import annotations

import io
import socket
from typing import Any, cast

from helpers.engine.wire import receive_message, send_message


class Slow:
    """A socket that takes one byte of what is handed to `send`, and gives back all it took."""

    def __init__(self) -> None:
        self.took = io.BytesIO()

    def send(self, data: bytes) -> int:
        return self.took.write(data[:1])

    def sendall(self, data: bytes) -> None:
        self.took.write(data)


def test_a_header_that_goes_in_two_pieces_arrives_whole() -> None:
    slow = Slow()
    send_message(cast(Any, slow), b"a message")
    here, there = socket.socketpair()
    with here, there:
        here.sendall(slow.took.getvalue())
        here.shutdown(socket.SHUT_WR)
        assert receive_message(there) == (b"a message", [])
