"""Removing a directory whatever is in it.

`shutil.rmtree` calls itself for each level, and fails from a thousand of them on: a server can name a branch like that.
Here each directory is first moved up to the top, so neither the stack nor a path grows. Links are not followed.
"""

import os
from contextlib import suppress
from itertools import count
from pathlib import Path

_MOVED = ".removed-"


def remove_directory(top: Path) -> None:
    """Remove as much of it as possible, without an error."""
    numbers = count()
    found = [top]
    while found:
        directory = found.pop()
        with suppress(OSError):
            found += _emptied(directory, top, numbers)
        if directory != top:
            with suppress(OSError):
                directory.rmdir()
    with suppress(OSError):
        top.rmdir()


def _emptied(directory: Path, top: Path, numbers: "count[int]") -> list[Path]:
    """The directories that were in it: at the top now."""
    moved = []
    with os.scandir(directory) as entries:
        inner = list(entries)
    for entry in inner:
        with suppress(OSError):
            if not entry.is_dir(follow_symlinks=False):
                Path(entry.path).unlink()
            elif directory == top:
                moved.append(Path(entry.path))
            else:
                place = next(free for n in numbers if not (free := top / f"{_MOVED}{n}").exists())
                Path(entry.path).rename(place)
                moved.append(place)
    return moved
