"""Whether a directory that was given holds manifests, or is the directory of a whole bundle: a common mistake."""

from pathlib import Path

from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.formats.registry_v1.packaging.media_type import CHART, first_document

MANIFESTS = "manifests"
_DOCUMENTS = {".yaml", ".yml", ".json"}


def check_holds_manifests(directory: Path) -> None:
    """One with manifests/ in it, and no manifest of its own, does not. Charts have directories as they like."""
    manifests = directory / MANIFESTS
    if manifests.is_dir() and not (directory / CHART).exists() and not any(map(_is_manifest, directory.iterdir())):
        given = directory.as_posix()
        raise ContentError(
            f"{given} is the directory of a bundle: give the one of its manifests, -d {manifests.as_posix()}"
        )


def _is_manifest(file: Path) -> bool:
    if (
        file.suffix not in _DOCUMENTS
        or not file.is_file()
        or file.stat().st_size > Limits.from_environment().yaml_bytes
    ):
        return False
    document = first_document(file.read_bytes())
    return isinstance(document, dict) and bool(document.get("apiVersion")) and bool(document.get("kind"))
