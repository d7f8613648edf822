"""A catalog's directory on disk: the files that readers of catalogs read, each read when it is asked for.

Every regular file is content whatever its name, also what a link inside the directory leads to; `.indexignore` files
leave out others. Links to directories, links that lead nowhere and links out of the directory are defects. What is
neither a file nor a directory is skipped, because reading it may never end; so is a `.git`.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.core.findings import Finding, Severity
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.rules import RuleOfReading

UNREADABLE: Final = RuleOfReading(
    id="FBC-L11",
    title="Files and links of a catalog can be read",
    hint="Put a copy of the file in the place of the link, or remove it.",
)
SKIPPED: Final = RuleOfReading(
    id="FBC-W03",
    title="A catalog holds regular files",
    hint="Remove it: other readers of catalogs wait for it for ever.",
    severity=Severity.WARNING,
)
CHECKOUT: Final = RuleOfReading(
    id="FBC-W05",
    title="The history of a checkout is no part of a catalog",
    hint="Give the directory of the catalog, or name it in a `.indexignore` file, one line `.git/`.",
    severity=Severity.WARNING,
)
RULES: Final = (UNREADABLE, SKIPPED, CHECKOUT)
_NO_CONTENT: Final = ".git"


@dataclass(frozen=True, kw_only=True)
class DirectoryFiles(Mapping[str, bytes]):
    """Paths relative to the root, in the order of a walk; their content is read anew each time."""

    root: Path
    sizes: Mapping[str, int]
    findings: tuple[Finding, ...] = ()
    limits: Limits = DEFAULT_LIMITS

    def __getitem__(self, path: str) -> bytes:
        if path not in self.sizes:
            raise KeyError(path)
        real = (self.root / path).resolve()
        if not real.is_relative_to(self.root):
            raise ContentError(f"{path}: is a link out of the catalog now")
        return read_regular_file(real, path, self.limits)

    def __contains__(self, path: object) -> bool:
        """Answer without reading the file."""
        return path in self.sizes

    def __iter__(self) -> Iterator[str]:
        return iter(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)


def read_regular_file(real: Path, name: str, limits: Limits) -> bytes:
    """The content of a file that may have changed since it was listed: another file, gone, or too large."""
    try:
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise ContentError(f"{name}: is not a regular file any more")
            if status.st_size > limits.catalog_bytes:
                raise limits.exceeded("catalog_bytes", f"the size of file {name!r}")
            data = file.read(status.st_size + 1)
    except PermissionError as error:
        raise AccessError(f"{name}: permission denied") from error
    except FileNotFoundError as error:
        raise UnavailableError(f"{name}: was removed while the catalog was read") from error
    except OSError as error:
        raise UnavailableError(f"{name}: cannot be read: {error.strerror}") from error
    if len(data) > status.st_size:
        raise UnavailableError(f"{name}: grew while it was read")
    return data


def read_directory(root: Path, *, limits: Limits = DEFAULT_LIMITS) -> DirectoryFiles:
    """List the files; none of them is read."""
    real_root = root.resolve(strict=True)
    walk = _Walk(real_root, limits)
    walk.enter(real_root, "")
    return DirectoryFiles(root=real_root, sizes=walk.sizes, findings=tuple(walk.findings), limits=limits)


class _Walk:
    def __init__(self, root: Path, limits: Limits) -> None:
        self.root = root
        self.limits = limits
        self.sizes: dict[str, int] = {}
        self.findings: list[Finding] = []
        self.bytes = 0

    def enter(self, directory: Path, path: str, depth: int = 0) -> None:
        if depth > self.limits.path_depth:
            raise self.limits.exceeded("path_depth", f"the depth of path {path[:200]!r}")
        try:
            for entry in sorted(os.scandir(directory), key=lambda entry: os.fsencode(entry.name)):
                self.visit(entry, f"{path}/{entry.name}" if path else entry.name, depth)
        except PermissionError as error:
            raise AccessError(f"{error.filename}: permission denied") from error
        except OSError as error:
            raise UnavailableError(f"{error.filename}: cannot be read: {error.strerror}") from error

    def visit(self, entry: "os.DirEntry[str]", name: str, depth: int) -> None:
        shown = os.fsencode(name).decode("utf-8", "backslashreplace")
        if shown != name:
            self.tell(UNREADABLE, shown, "has a name that is not UTF-8", "Rename it.")
        elif entry.is_symlink():
            self.add_link(name, Path(entry.path))
        elif entry.is_dir():
            if entry.name == _NO_CONTENT:
                self.tell(CHECKOUT, name, "is skipped, but other readers of catalogs read it")
            else:
                self.enter(Path(entry.path), name, depth + 1)
        elif entry.is_file():
            self.add(name, entry.stat().st_size)
        else:
            self.tell(SKIPPED, name, "is skipped: it is a device, a FIFO or a socket")

    def add(self, path: str, size: int) -> None:
        if len(self.sizes) >= self.limits.content_files:
            raise self.limits.exceeded("content_files", "the number of files of the catalog")
        self.bytes += size
        if self.bytes > self.limits.catalog_bytes:
            raise self.limits.exceeded("catalog_bytes", "the size of all files of the catalog")
        self.sizes[path] = size

    def add_link(self, path: str, link: Path) -> None:
        target = os.fsencode(link.readlink()).decode("utf-8", "backslashreplace")[:200]
        try:
            real = link.resolve(strict=True)
            mode = real.stat()
        except (OSError, RuntimeError):
            self.tell(UNREADABLE, path, f"is a link to {target!r}, which is not there")
            return
        if not real.is_relative_to(self.root):
            self.tell(UNREADABLE, path, f"is a link out of the catalog, to {target!r}")
        elif stat.S_ISDIR(mode.st_mode):
            self.tell(UNREADABLE, path, f"is a link to the directory {target!r}, which is not followed")
        elif stat.S_ISREG(mode.st_mode):
            self.add(path, mode.st_size)
        else:
            self.tell(SKIPPED, path, "is skipped: it leads to a device, a FIFO or a socket")

    def tell(self, rule: RuleOfReading, path: str, message: str, hint: str = "") -> None:
        found = Finding(rule=rule.id, severity=rule.severity, message=message, hint=hint or rule.hint, file=path)
        self.findings.append(found)
