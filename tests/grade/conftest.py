"""A class that is graded in the test's own process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import fake_slots


@pytest.fixture
def a_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> fake_slots.Class:
    return fake_slots.Class(tmp_path, fake_slots.install(monkeypatch, tmp_path))
