"""Categories of a catalog, in the file that `opm` and `operator-sdk` read, too: `{"categories": ["Databases"]}`.

A bundle's categories are held against them in the place of those of OperatorHub.io. Other members are left alone.
"""

import os
from pathlib import Path
from typing import Final

from rukpak_py.cli.linting.files import read_document
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits

VARIABLE: Final = "OPERATOR_BUNDLE_CATEGORIES"
_MEMBER: Final = "categories"


def categories_of(option: str, setting: str, limits: Limits) -> frozenset[str]:
    """Read the file of the option, else of the setting, else of the variable. Empty where none of them is given."""
    for path, named_by in ((option, "--categories"), (setting, "validate.categories"), (_variable(), VARIABLE)):
        if path:
            return _read(Path(path), named_by, limits)
    return frozenset()


def _variable() -> str:
    return os.environ.get(VARIABLE, "")


def _read(file: Path, named_by: str, limits: Limits) -> frozenset[str]:
    if not file.is_file():
        raise ContentError(f"{file}: there is no such file ({named_by})")
    document = read_document(file, limits)
    found = document.get(_MEMBER) if isinstance(document, dict) else None
    if not isinstance(found, list) or not found or not all(isinstance(one, str) and one for one in found):
        raise ContentError(f"{file}: it must be a mapping with a list of names: {_MEMBER}: [Databases, Storage]")
    return frozenset(map(str.strip, found))
