"""Files of catalogs on disk, formatted one by one. A file that is formatted already is no result."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rukpak_py.catalog.formatting import formatted
from rukpak_py.cli.catalogs.loading import LoadOptions, content_files
from rukpak_py.cli.catalogs.opening import open_catalog
from rukpak_py.core.errors import ContentError, RukPakError


@dataclass(frozen=True, kw_only=True)
class Changed:
    path: str
    text: bytes


@dataclass(frozen=True, kw_only=True)
class Commented:
    """A file with comments, which is left as it is."""

    path: str
    lines: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Failed:
    path: str
    reason: str


def format_files(
    catalogs: Iterable[str], options: LoadOptions, *, drop_comments: bool
) -> Iterator[Changed | Commented | Failed]:
    for typed in catalogs:
        opened = open_catalog(typed, options.limits)
        if opened.root is None:
            raise ContentError(f"{typed}: is an image: only files on disk are formatted")
        files = content_files(opened)
        for name in files:
            path = str(opened.root / name)
            data = files[name]
            try:
                found = formatted(data, limits=options.of_files)
            except RukPakError as error:
                yield Failed(path=path, reason=str(error))
                continue
            if found.text == data:
                continue
            if found.comments and not drop_comments:
                yield Commented(path=path, lines=found.comments)
            else:
                yield Changed(path=path, text=found.text)
