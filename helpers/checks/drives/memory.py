"""What a function keeps and does: its process's memory from outside, torch's operations."""

from torch.utils._python_dispatch import TorchDispatchMode

from helpers.checks.drives.calling import Function
from helpers.checks.drives.values import Remote

LARGE = 2**19  # bytes that stand out; what comes and goes is up to a tenth of that


class Kept:
    """What a learner's process holds more than when this was made, for a grader.

    A process holds much else, which comes and goes: only what is large stands out.

    nbytes: of what it may keep, or not; where that is not LARGE, nobody looks. What libraries load
    at a first call is to be there before; nothing large is, or who keeps it in one place has it.
    """

    def __init__(self, fn: Function, nbytes: int) -> None:
        self.fn, self.seen = fn, isinstance(fn, Remote) and nbytes >= LARGE
        self.before = self._now()

    def more(self) -> int | None:
        """So many bytes more; None where nobody sees them."""
        now = self._now()
        return None if now is None or self.before is None else now - self.before

    def _now(self) -> int | None:
        found: int | None = self.fn.memory() if self.seen else None  # type: ignore[attr-defined]
        return found


class Watching(TorchDispatchMode):
    """Sees every operation of torch, and spares a learner torch's compiler.

    As it stands torch loads its compiler at the first operation that such a mode sees, which
    takes ten seconds and more, only to leave the mode itself uncompiled.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False
