"""How to write a file so that a kill at any byte does no harm.

Source: Pillai et al., "All File Systems Are Not Created Equal: On the Complexity of Crafting
Crash-Consistent Applications" (OSDI 2014), section 2.
"""

from __future__ import annotations

from helpers.lessons.cluster.algorithms.files import TEMPORARY, Folder


def write_safely(folder: Folder, name: str, data: bytes) -> None:
    """Write a file so that a kill at any byte leaves the file that was there, or the new one.

    When it returns, the new one is on the disk, and stays there even if the power fails.
    """
    temporary = name + TEMPORARY
    folder.write(temporary, data)
    folder.sync(temporary)  # or the new name may come to the disk before the bytes
    folder.rename(temporary, name)
    folder.sync_names()  # or what is done next may come to the disk before the new name
