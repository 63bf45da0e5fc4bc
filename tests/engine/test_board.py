"""The status board: messages on links, and looks that may be interrupted anywhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from helpers.engine import board as of_board
from helpers.engine.board import Board
from helpers.engine.wire import anonymous_file


@pytest.fixture
def board() -> Iterator[Board]:
    fd = anonymous_file(Board.bytes(2))
    board = Board(fd, 2)
    yield board
    board.close()
    os.close(fd)


def test_a_message_is_on_a_link_until_it_has_come(board: Board) -> None:
    assert not board.travelling()
    board.on_links[0, 0] += 1
    assert board.travelling()
    board.on_links[1, 1] += 1
    assert not board.travelling()


def test_a_look_is_in_no_frame_that_would_keep_the_memory_in_use(board: Board) -> None:
    # An interrupt's traceback holds all frames that it came through, and `close` comes before it
    # is gone. Functions of numpy's that are written in Python hold the array that they were given.
    entered = set[str]()

    def note(frame: FrameType, kind: str, value: Any) -> None:
        if kind == "call":
            entered.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        board.travelling()
    finally:
        sys.setprofile(before)
    assert entered == {of_board.__file__}
