"""Two versions of a real bundle: those of the corpus, or the same bundle with another name and one object less."""

import shutil
from pathlib import Path

import orjson

from rukpak_py.content import yaml
from rukpak_py.core.limits import DEFAULT_LIMITS
from tests.corpus.real_bundles import Document, real_bundle

CSV = "ClusterServiceVersion"
KEPT = frozenset({CSV, "CustomResourceDefinition"})


def next_version(folder: Path, target: Path) -> Path:
    """The next bundle of the corpus, where it is of the same package; else a changed copy in the target."""
    folders = sorted(folder.parent.glob("[0-9]*"))
    after = folders[folders.index(folder) + 1 :][:1]
    if after and _is_of_package(after[0], real_bundle(folder).package):
        return after[0]
    return changed_copy(folder, target)


def changed_copy(folder: Path, target: Path) -> Path:
    """The name of the CSV is part of names of roles, so all of these change."""
    shutil.copytree(folder, target)
    is_dropped = False
    for path in sorted((target / "manifests").iterdir()):
        document: Document = yaml.load(path.read_bytes(), limits=DEFAULT_LIMITS)
        if document["kind"] == CSV:
            document["metadata"]["name"] += "-next"
            path.chmod(0o644)
            path.write_bytes(orjson.dumps(document))
        elif document["kind"] not in KEPT and not is_dropped:
            path.unlink()
            is_dropped = True
    return target


def _is_of_package(folder: Path, package: str) -> bool:
    return folder.name.split("-", 1)[1].startswith(package) and real_bundle(folder).package == package
