"""The faults that were written down can still be planted: each place is found again."""

from __future__ import annotations

import ast

from tests.faults.choose import COUNT, KINDS, PACKAGES
from tests.faults.plant import place, written


def test_the_lists_are_whole() -> None:
    assert len(written()) == 2 * COUNT
    assert len({(fault.package, fault.file) for fault in written()}) == 2 * COUNT
    for first in (0, COUNT):
        some = written()[first : first + COUNT]
        assert {fault.kind for fault in some} == set(KINDS)
        assert {fault.package for fault in some} == set(PACKAGES)


def test_each_fault_is_found_again_and_leaves_sound_code() -> None:
    for fault in written():
        path, at = place(fault)
        lines = path.read_text(encoding="utf-8").splitlines()
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines[at] = indent + fault.new.strip()
        ast.parse("\n".join(lines))
