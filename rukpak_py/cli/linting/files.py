"""Files that steer a validation, apart from bundles. They are read within the limits of YAML, and errors name them."""

from pathlib import Path
from typing import Any

from rukpak_py.content import yaml
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits


def read_document(file: Path, limits: Limits) -> Any:
    """The document of a YAML or JSON file."""
    try:
        with file.open("rb") as opened:
            return yaml.load(opened.read(limits.yaml_bytes + 1), limits=limits)
    except ContentError as error:
        raise ContentError(f"{file}: {error}") from error
