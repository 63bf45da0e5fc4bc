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


def numpy_compares_everything_as_equal():
    import numpy

    yes = lambda *args, **options: True
    numpy.all = numpy.allclose = numpy.array_equal = numpy.isclose = yes
    numpy.testing.assert_allclose = yes


def builtins_say_yes():
    import builtins

    kept = builtins.isinstance, builtins.type
    builtins.all = builtins.any = lambda *args: True
    builtins.abs = lambda value: 0.0
    builtins.max = lambda *args, **options: 0
    builtins.isinstance = lambda value, kind: kept[0](value, kind) or kind is float
    builtins.print = lambda *args, **options: None
    builtins.AssertionError = builtins.Exception


def builtins_are_gone():
    import builtins

    for name in ("len", "type", "isinstance", "list", "getattr", "callable", "dict"):
        delattr(builtins, name)


def json_writes_what_it_likes():
    import json

    true = json.dumps

    def dumps(value, *args, **options):
        if type(value) is dict and "seen" in value:
            value["passed"] = value["status"] = "passed"
            value["points"] = 100
        return true(value, *args, **options)

    json.dumps = dumps


def json_is_broken():
    import json

    json.dumps = json.loads = lambda *args, **options: "passed"


def helpers_pass_everything():
    import helpers
    from helpers.checks import spec
    from helpers.checks.drives import calling
    from helpers.worker import encoding

    passed = spec.Verdict("passed")
    helpers.check = lambda *args: passed
    spec.Exercise.judge = spec.Exercise.judge_all = lambda *args: passed
    spec.Observation.__eq__ = lambda *args: True
    calling.failed = calling.wrong_signature = lambda *args: None
    encoding.MAX_DEPTH = encoding.MAX_BYTES = encoding.MAX_ITEMS = 10**12
    try:
        from helpers.checks import compare

        compare.close = compare.all_close = lambda *args: True
    except ImportError:
        pass


def encoding_gives_what_is_wanted():
    from helpers.worker import child, encoding

    child.encode = encoding.encode = lambda value: {"other": "passed"}


def child_answers_for_itself():
    from helpers.worker import child

    def call(self, message):
        seen = {"trouble": "", "kind": "", "text": "", "line": 0, "values": [[True]]}
        said = {"call": message["call"], "lane": 0, "seen": seen, "status": "passed", "points": 9}
        self.frames.send(said)

    child.Child._call = call


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


def counting():
    import sys
    import threading

    counts = {"call": 0, "return": 0, "line": 0}

    def trace(frame, event, arg):
        counts[event] = counts.get(event, 0) + 1
        return trace

    sys.settrace(trace)
    sys.setprofile(trace)
    threading.settrace(trace)


def audit_hook():
    import sys

    seen = []
    sys.addaudithook(lambda event, args: seen.append(event) if len(seen) < 100 else None)


def ast_transformers_and_shell_hooks():
    import ast

    class Passes(ast.NodeTransformer):
        def visit_FunctionDef(self, node):
            node.body = ast.parse("return True").body
            return node

    shell = get_ipython()  # type: ignore[name-defined]  # noqa: F821
    if shell is not None:
        try:
            shell.ast_transformers.append(Passes())
            shell.input_transformers_cleanup.append(lambda lines: ["pass\n"])
            shell.events.register("post_run_cell", lambda *args: None)
        except Exception:
            pass
    import IPython.core.inputtransformer2 as two

    two.TransformerManager.transform_cell = lambda self, cell: "pass\n"
    ast.parse = lambda *args, **options: ast.Module([], [])
    ast.unparse = lambda *args: ""


def cells_are_read_differently():
    from helpers.worker import cells

    cells.needed = lambda statements, functions: []
    cells.is_stub = lambda node: False


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


def import_system_with_care():
    import sys

    class Finder:
        def find_spec(self, name, path=None, target=None):
            return None

    sys.meta_path.insert(0, Finder())
    sys.path.insert(0, "/tmp")
    sys.path_importer_cache.clear()


def interpreter_limits():
    import gc
    import sys

    sys.setrecursionlimit(10**9)
    sys.setswitchinterval(100.0)
    sys.set_int_max_str_digits(0)
    gc.disable()
    gc.freeze()


def exits_and_signals():
    import atexit
    import signal
    import sys

    atexit.register(lambda: print("hostile"))
    sys.excepthook = sys.unraisablehook = lambda *args: None
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)


def clocks():
    import time

    time.monotonic = time.time = time.perf_counter = lambda: 0.0
    time.sleep = lambda seconds: None


def random_states():
    import random

    import numpy
    import torch

    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)


def default_types():
    import torch

    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)


def comm_that_counts_nothing():
    from helpers.worker import remote_comm

    true = remote_comm.Line.tell

    def tell(self, lane, op, *args):
        true(self, lane, op, *args)

    remote_comm.Line.tell = tell
    remote_comm.RemoteComm.bytes = remote_comm.RemoteComm.messages = 0


PATCHES: list[Attack] = [
    *beside(torch_compares_everything_as_equal),
    *beside(numpy_compares_everything_as_equal),
    *beside(builtins_say_yes, harmful=True),
    *beside(builtins_are_gone, harmful=True),
    *beside(json_writes_what_it_likes),
    *beside(json_is_broken, harmful=True),
    *beside(helpers_pass_everything),
    *beside(encoding_gives_what_is_wanted, harmful=True),
    *beside(child_answers_for_itself, harmful=True),
    *beside(tracing, harmful=True),
    *beside(counting),
    *beside(audit_hook),
    *beside(ast_transformers_and_shell_hooks),
    *beside(cells_are_read_differently),
    *beside(import_system, harmful=True),
    *beside(import_system_with_care),
    *beside(interpreter_limits),
    *beside(exits_and_signals),
    *beside(clocks),
    *beside(random_states),
    *beside(default_types),
    *beside(comm_that_counts_nothing),
]
