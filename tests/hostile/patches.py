"""Everything in the student's process is patched: it makes no difference to the judge outside.

Each function here runs in the sandbox before the answers are called.
"""

from __future__ import annotations

from hostile.submission import Attack, beside


def torch_compares_everything_as_equal():
    import torch

    yes = lambda *args, **options: True
    torch.allclose = torch.equal = torch.isclose = torch.all = yes
    torch.Tensor.__eq__ = torch.Tensor.equal = torch.Tensor.allclose = yes
    torch.testing.assert_close = yes


def builtins_are_gone():
    import builtins

    for name in ("len", "type", "isinstance", "list", "getattr", "callable", "dict"):
        delattr(builtins, name)


def child_answers_for_itself():
    from helpers.grade.worker import child

    def call(self, message, line):
        line.over(
            {"trouble": "", "kind": "", "text": "", "line": 0, "values": [[True]], "written": None}
        )

    child.Child._call = child.Child._rank = call


def tracing():
    import sys
    import threading

    def trace(frame, event, arg):
        frame.f_trace_lines = True
        for name in ("trouble", "error", "value"):
            if name in frame.f_locals:
                frame.f_locals[name] = None
        return trace

    sys.settrace(trace)
    sys.setprofile(lambda *args: None)
    threading.settrace(trace)


def import_system():
    import importlib
    import sys
    import types

    class Finder:
        def find_spec(self, name, path=None, target=None):
            raise ImportError("nothing is found any more")

    sys.meta_path.insert(0, Finder())
    sys.modules["pickle"] = types.ModuleType("pickle")
    importlib.import_module = lambda name: sys.modules["__main__"]


def comm_that_counts_nothing():
    from helpers.grade.worker import remote_comm

    true = remote_comm.Line.tell

    def tell(self, op, *args):
        true(self, op, *args)

    remote_comm.Line.tell = tell
    remote_comm.RemoteComm.bytes = remote_comm.RemoteComm.messages = 0


PATCHES: list[Attack] = [
    *beside(torch_compares_everything_as_equal),
    *beside(builtins_are_gone, harmful=True),
    *beside(child_answers_for_itself, harmful=True),
    *beside(tracing, harmful=True),
    *beside(import_system, harmful=True),
    *beside(comm_that_counts_nothing),
]
