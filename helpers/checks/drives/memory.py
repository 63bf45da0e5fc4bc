"""Torch's operations, seen one by one."""

from torch.utils._python_dispatch import TorchDispatchMode


class Watching(TorchDispatchMode):
    """Sees every operation of torch, and spares a learner torch's compiler.

    As it stands torch loads its compiler at the first operation that such a mode sees, which
    takes ten seconds and more, only to leave the mode itself uncompiled.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False
