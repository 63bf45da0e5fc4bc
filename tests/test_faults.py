"""The faults that were written down can still be planted: each place is found again."""

from __future__ import annotations

import ast

from tests.faults.plant import place, written


def test_each_fault_is_found_again_and_leaves_sound_code() -> None:
    assert len({(fault.package, fault.file) for fault in written()}) == len(written()) == 40
    for fault in written():
        path, at = place(fault)
        lines = path.read_text(encoding="utf-8").splitlines()
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines[at] = indent + fault.new.strip()
        ast.parse("\n".join(lines))
