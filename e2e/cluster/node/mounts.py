"""The mounts of the machine."""

import re
from collections.abc import Iterator
from pathlib import Path


def mount_points(kind: str = "") -> Iterator[Path]:
    """Give where file systems of this kind (a regular expression) are mounted, in the order of mounting."""
    for point, filesystem in mounts():
        if re.fullmatch(kind or ".*", filesystem):
            yield point


def filesystem_of(path: Path) -> str:
    """Give the kind of file system that a path lies on."""
    above = [(point, filesystem) for point, filesystem in mounts() if path.is_relative_to(point)]
    # Of several mounts at one point, the last one is what is seen.
    return max(enumerate(above), key=lambda item: (len(item[1][0].parts), item[0]))[1][1]


def mounts() -> Iterator[tuple[Path, str]]:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        # A space in a path is written as an octal number.
        point = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), left.split()[4])
        yield Path(point), right.split()[0]
