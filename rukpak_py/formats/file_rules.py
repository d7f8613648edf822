"""Rules for every file of manifests and metadata, in any format."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from rukpak_py.content.tree import Tree
from rukpak_py.content.yaml_positions import Positions
from rukpak_py.core.findings import Severity
from rukpak_py.core.limits import Limits
from rukpak_py.formats.rules import Family, Place, Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    tree: Tree
    limits: Limits


FAMILY: Family[Files] = Family(title="Files", origin="rukpak-py")

_MOST_OF_A_FILE: Final = 20
_METADATA_SUFFIXES: Final = (".yaml", ".yml", ".json")


@FAMILY.rule(
    "FILE-001",
    title="A mapping gives each key once",
    hint="Keep one of them: the last one counts, the earlier ones are lost without a word.",
    severity=Severity.WARNING,
)
def keys_are_given_once(files: Files) -> Iterator[Problem]:
    for file in _paths(files.tree):
        # Not the locator's, which are kept: those of all files at once would be most of a validation's memory.
        positions = Positions(files.tree[file], limits=files.limits)
        for key, (line, column) in islice(positions.repeated_keys(), _MOST_OF_A_FILE):
            yield Problem(message=f"key {key[:100]!r} is given again", place=Place(file=file), at=(line, column))


def _paths(tree: Tree) -> Iterator[str]:
    for file in tree:
        folder, _, name = file.rpartition("/")
        if folder == "manifests" or (folder == "metadata" and name.endswith(_METADATA_SUFFIXES)):
            yield file
