"""Predictions in which something is missing (18.1)."""

from __future__ import annotations

from typing import Any


def no_clock() -> Any:
    one = {"first": "synchronous", "best": "synchronous"}
    return {"processes": one, "hosts": one}


def no_best() -> Any:
    return {name: {"first": "asynchronous"} for name in ("processes", "hosts", "clock")}


def short_names() -> Any:
    return {name: {"first": "async", "best": "sync"} for name in ("processes", "hosts", "clock")}


def one_list() -> Any:
    return ["synchronous", "asynchronous", "spare replicas"]


def all_open() -> Any:
    return {name: {"first": None, "best": None} for name in ("processes", "hosts", "clock")}
