"""Lines and columns of paths in YAML and JSON files, found on request."""

from typing import NamedTuple, TypeAlias

from rukpak_py.core.limits import DEFAULT_LIMITS, Limits

Path: TypeAlias = tuple[str | int, ...]


class Position(NamedTuple):
    line: int  # from 1
    column: int


class Positions:
    def __init__(self, data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self._data = data
        self._limits = limits

    def of(self, document: int, path: Path, *, on_key: bool = False) -> Position | None:
        raise NotImplementedError
