"""The faults that were written down can still be planted: each place is found again."""

from __future__ import annotations

import ast

import pytest

from tests.faults.choose import COUNT, KINDS, PACKAGES, Fault
from tests.faults.plant import place, written


def test_the_list_is_whole() -> None:
    assert len(written()) == COUNT
    assert {fault.kind for fault in written()} == set(KINDS)
    assert {fault.package for fault in written()} == set(PACKAGES)


@pytest.mark.parametrize("fault", written(), ids=lambda fault: f"{fault.file}-{fault.function}")
def test_a_fault_is_found_again_and_leaves_sound_code(fault: Fault) -> None:
    path, at = place(fault)
    lines = path.read_text(encoding="utf-8").splitlines()
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines[at] = indent + fault.new.strip()
    ast.parse("\n".join(lines))
