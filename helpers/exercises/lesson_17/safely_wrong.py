"""Ways to write a file that do harm somewhere (17.3)."""

from __future__ import annotations

from itertools import count
from typing import Any


def in_place(folder: Any, name: str, data: bytes) -> None:
    """Over the file that is there, with all that is to be waited for."""
    folder.write(name, data)
    folder.sync(name)
    folder.sync_names()


def no_sync(folder: Any, name: str, data: bytes) -> None:
    """The bytes may come to the disk after the name."""
    folder.write(name + ".tmp", data)
    folder.rename(name + ".tmp", name)
    folder.sync_names()


def nothing_synced(folder: Any, name: str, data: bytes) -> None:
    """A kill does no harm, a power cut does."""
    folder.write(name + ".tmp", data)
    folder.rename(name + ".tmp", name)


def sync_after_rename(folder: Any, name: str, data: bytes) -> None:
    """A power cut may come between the two."""
    folder.write(name + ".tmp", data)
    folder.rename(name + ".tmp", name)
    folder.sync(name)
    folder.sync_names()


def syncs_the_old_file(folder: Any, name: str, data: bytes) -> None:
    """The name at which the new bytes are not yet."""
    folder.write(name + ".tmp", data)
    if name in folder.names():
        folder.sync(name)
    folder.rename(name + ".tmp", name)
    folder.sync_names()


def no_sync_names(folder: Any, name: str, data: bytes) -> None:
    """The bytes are safe, the name is not."""
    folder.write(name + ".tmp", data)
    folder.sync(name + ".tmp")
    folder.rename(name + ".tmp", name)


def sync_names_before_rename(folder: Any, name: str, data: bytes) -> None:
    """Both are waited for, and then there is a rename."""
    folder.write(name + ".tmp", data)
    folder.sync(name + ".tmp")
    folder.sync_names()
    folder.rename(name + ".tmp", name)


def syncs_the_file_again(folder: Any, name: str, data: bytes) -> None:
    """The file for its folder."""
    folder.write(name + ".tmp", data)
    folder.sync(name + ".tmp")
    folder.rename(name + ".tmp", name)
    folder.sync(name)


def removes_first(folder: Any, name: str, data: bytes) -> None:
    """Makes room before the rename."""
    folder.write(name + ".tmp", data)
    folder.sync(name + ".tmp")
    if name in folder.names():
        folder.remove(name)
    folder.rename(name + ".tmp", name)
    folder.sync_names()


def removes_and_writes(folder: Any, name: str, data: bytes) -> None:
    """In place, with nothing in the place."""
    if name in folder.names():
        folder.remove(name)
    folder.write(name, data)
    folder.sync(name)
    folder.sync_names()


def moves_aside(folder: Any, name: str, data: bytes) -> None:
    """Two renames for one."""
    folder.write(name + ".tmp", data)
    folder.sync(name + ".tmp")
    there = name in folder.names()
    if there:
        folder.rename(name, name + ".old")
    folder.rename(name + ".tmp", name)
    folder.sync_names()
    if there:
        folder.remove(name + ".old")


def copies(folder: Any, name: str, data: bytes) -> None:
    """The temporary file's bytes, read and written."""
    folder.write(name + ".tmp", data)
    folder.sync(name + ".tmp")
    folder.write(name, folder.read(name + ".tmp"))
    folder.sync(name)
    folder.remove(name + ".tmp")
    folder.sync_names()


def writes_twice(folder: Any, name: str, data: bytes) -> None:
    """A temporary file as a spare one; the file itself in place."""
    folder.write(name + ".tmp", data)
    folder.sync(name + ".tmp")
    folder.write(name, data)
    folder.sync(name)
    folder.remove(name + ".tmp")
    folder.sync_names()


def renames_backwards(folder: Any, name: str, data: bytes) -> None:
    """The arguments exchanged."""
    folder.write(name + ".tmp", data)
    folder.sync(name + ".tmp")
    folder.rename(name, name + ".tmp")
    folder.sync_names()


def never_over(folder: Any, name: str, data: bytes) -> None:
    """A file that is there stays."""
    if name not in folder.names():
        write(folder, name, data)


def same_size(folder: Any, name: str, data: bytes) -> None:
    """A file of this size is taken for the one that is wanted."""
    if name not in folder.names() or folder.size(name) != len(data):
        write(folder, name, data)


def elsewhere(folder: Any, name: str, data: bytes) -> None:
    """Nothing is asked of the folder."""


def one_for_all(folder: Any, name: str, data: bytes) -> None:
    """The same temporary name whatever is written."""
    write(folder, name, data, "checkpoint.tmp")


_number = count()


def never_the_same(folder: Any, name: str, data: bytes) -> None:
    """A temporary name that nobody uses again."""
    write(folder, name, data, f"{name}.{next(_number)}.tmp")


def never_renames(folder: Any, name: str, data: bytes) -> None:
    """All is on the disk, under the temporary name."""
    folder.write(name + ".tmp", data)
    folder.sync(name + ".tmp")
    folder.sync_names()


def trusts_what_is_left(folder: Any, name: str, data: bytes) -> None:
    """A temporary file that is there is taken for whole."""
    if name + ".tmp" not in folder.names():
        folder.write(name + ".tmp", data)
    folder.sync(name + ".tmp")
    folder.rename(name + ".tmp", name)
    folder.sync_names()


def refuses(folder: Any, name: str, data: bytes) -> None:
    """A temporary file that is there is taken for another writer."""
    if name + ".tmp" in folder.names():
        raise FileExistsError(f"{name} is being written.")
    write(folder, name, data)


def gives_way(folder: Any, name: str, data: bytes) -> None:
    """The same without a word."""
    if name + ".tmp" not in folder.names():
        write(folder, name, data)


def clears_all(folder: Any, name: str, data: bytes) -> None:
    """Whatever looks like a temporary file goes first."""
    for each in folder.names():
        if each.endswith(".tmp"):
            folder.remove(each)
    write(folder, name, data)


def marks(folder: Any, name: str, data: bytes) -> None:
    """A file beside it that says that it is whole."""
    write(folder, name, data)
    folder.write(name + ".done", b"")
    folder.sync(name + ".done")
    folder.sync_names()


def keeps_a_copy(folder: Any, name: str, data: bytes) -> None:
    """The old file under another name, to be sure."""
    if name in folder.names():
        write(folder, name + ".old", folder.read(name))
    write(folder, name, data)


def reads_back(folder: Any, name: str, data: bytes) -> None:
    """Looks whether the bytes are there, in memory."""
    folder.write(name + ".tmp", data)
    folder.sync(name + ".tmp")
    if folder.read(name + ".tmp") != data:
        raise OSError(f"{name} is not what was written.")
    folder.rename(name + ".tmp", name)
    folder.sync_names()


def reads_first(folder: Any, name: str, data: bytes) -> None:
    """Looks whether there is anything to do."""
    if name not in folder.names() or folder.read(name) != data:
        write(folder, name, data)


def once_more(folder: Any, name: str, data: bytes) -> None:
    """All of it twice, to be sure."""
    write(folder, name, data)
    write(folder, name, data)


def write(folder: Any, name: str, data: bytes, temporary: str = "") -> None:
    """The right way, with a temporary name of one's own."""
    temporary = temporary or name + ".tmp"
    folder.write(temporary, data)
    folder.sync(temporary)
    folder.rename(temporary, name)
    folder.sync_names()
