"""Files of catalogs on disk, formatted one by one. A file that is formatted already is no result."""

import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rukpak_py.catalog.formatting import formatted
from rukpak_py.cli.catalogs.loading import LoadOptions, content_files
from rukpak_py.cli.catalogs.opening import OpenedCatalog, open_catalog
from rukpak_py.cli.packaging.layouts import write
from rukpak_py.content.yaml_streams import YamlError
from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.formats.rules import Place
from rukpak_py.formats.syntax import syntax_problem


@dataclass(frozen=True, kw_only=True)
class Changed:
    path: str
    text: bytes

    def write(self) -> None:
        """Replace the file in one step. Its permissions stay; a link stays a link to the file."""
        path = Path(self.path).resolve()
        write(path, self.text, mode=stat.S_IMODE(path.stat().st_mode))


@dataclass(frozen=True, kw_only=True)
class Commented:
    """A file with comments, which is left as it is."""

    path: str
    lines: tuple[int, ...]  # the first few


@dataclass(frozen=True, kw_only=True)
class Failed:
    path: str
    reason: str
    hint: str = ""
    at: tuple[int, int] | None = None

    @property
    def location(self) -> str:
        """The path, and the line and column behind it where they are known."""
        return ":".join([self.path, *(str(number) for number in self.at or () if number)])


Result = Changed | Commented | Failed


def format_files(catalogs: Iterable[str], options: LoadOptions, *, drop_comments: bool) -> Iterator[Result]:
    """Format the files of all catalogs. A catalog that cannot be opened is an error before any file is formatted."""
    for root, opened in [_on_disk(typed, options) for typed in catalogs]:
        files = content_files(opened)
        yield from (
            Failed(path=str(root / finding.file), reason=finding.message, hint=finding.hint)
            for finding in files.findings
            if finding.is_error
        )
        for name in files:
            result = _formatted(root, name, opened.files, options, drop_comments=drop_comments)
            if result is not None:
                yield result


def _on_disk(typed: str, options: LoadOptions) -> tuple[Path, OpenedCatalog]:
    opened = open_catalog(typed, options.limits)
    if opened.root is None:
        raise ContentError(f"{typed}: is an image: only files on disk are formatted")
    return opened.root, opened


def _formatted(
    root: Path, name: str, files: Mapping[str, bytes], options: LoadOptions, *, drop_comments: bool
) -> Result | None:
    path = str(root / name)
    data = b""
    try:
        data = files[name]
        found = formatted(data, limits=options.of_files)
    except YamlError as error:
        problem = syntax_problem(error, data, Place(file=name))
        return Failed(path=path, reason=problem.message, hint=problem.hint or "", at=problem.at)
    except RukPakError as error:
        return Failed(path=path, reason=str(error).removeprefix(f"{name}: "))
    if found.text == data:
        return None
    if found.comments and not drop_comments:
        return Commented(path=path, lines=found.comments)
    return Changed(path=path, text=found.text)
