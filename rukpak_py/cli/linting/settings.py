"""Settings of `validate` in `.rukpakctl.yaml`: the nearest one beside a bundle or above it, as far as the repository.

The search ends at a directory with `.git`, and at the file system's root. Settings of the command line are added: both
choose and both ignore. Where they name a level for the same rule, the command line wins. A wrong file ends the command:
a rule that is misspelt must not pass for one that is ignored.
"""

from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from rukpak_py.cli.linting.files import read_document
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits

FILE: Final = ".rukpakctl.yaml"
_MEMBER: Final = "validate"


@dataclass(frozen=True, kw_only=True, slots=True)
class LintSettings:
    """`file` is empty where no file says anything."""

    file: str = ""
    profiles: tuple[str, ...] = ()
    strict: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()  # LEVEL=RULE
    categories: str = ""  # the path of a file


NO_SETTINGS: Final = LintSettings()
_LISTS: Final = ("profiles", "select", "ignore", "levels")


@dataclass(kw_only=True)
class SettingsFinder:
    """Each directory is looked at once."""

    limits: Limits
    _found: dict[Path, LintSettings] = field(default_factory=dict)

    def of(self, bundle: str) -> LintSettings:
        """Settings for an archive are those of its directory; for an image, those of the working directory."""
        path = Path(bundle)
        start = path if path.is_dir() else path.parent if path.exists() else Path()
        return self._in(start.resolve())

    def _in(self, directory: Path) -> LintSettings:
        if directory not in self._found:
            self._found[directory] = self._read(directory)
        return self._found[directory]

    def _read(self, directory: Path) -> LintSettings:
        file = directory / FILE
        if file.is_file():
            return read(file, self.limits)
        if directory.parent == directory or (directory / ".git").exists():
            return NO_SETTINGS
        return self._in(directory.parent)


def read(file: Path, limits: Limits) -> LintSettings:
    document = read_document(file, limits) or {}
    _demand(file, "", document, (_MEMBER,))
    given: dict[str, Any] = document.get(_MEMBER) or {}
    _demand(file, _MEMBER, given, (*_LISTS, "strict", "categories"))
    for name in _LISTS:
        value = given.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise ContentError(f"{file}: {_MEMBER}.{name} must be a list of strings")
    if not isinstance(given.get("strict", False), bool):
        raise ContentError(f"{file}: {_MEMBER}.strict must be true or false")
    if not isinstance(given.get("categories", ""), str):
        raise ContentError(f"{file}: {_MEMBER}.categories must be the path of a file")
    categories = str(file.parent / given["categories"]) if given.get("categories") else ""
    lists = {name: tuple(given.get(name, ())) for name in _LISTS}
    return LintSettings(file=str(file), strict=given.get("strict", False), categories=categories, **lists)


def _demand(file: Path, where: str, value: Any, known: tuple[str, ...]) -> None:
    if not isinstance(value, dict):
        raise ContentError(f"{file}: {where or 'it'} must be a mapping")
    for key in value:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            advice = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            raise ContentError(f"{file}: there is no setting {'.'.join(filter(None, (where, str(key))))}{advice}")
