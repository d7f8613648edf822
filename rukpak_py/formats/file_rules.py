"""What holds for every file of manifests and metadata, whatever the format."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from rukpak_py.content.tree import Tree
from rukpak_py.content.yaml_positions import Positions
from rukpak_py.core.findings import Severity
from rukpak_py.formats.rules import Family, Place, Problem

FAMILY: Family[Tree] = Family(title="Files", origin="rukpak-py")

_MOST_OF_A_FILE: Final = 20
_METADATA_SUFFIXES: Final = (".yaml", ".yml", ".json")


@FAMILY.rule(
    "FILE-001",
    title="A mapping gives each key once",
    hint="Keep one of them: the last one counts, the earlier ones are lost without a word.",
    severity=Severity.WARNING,
)
def keys_are_given_once(tree: Tree) -> Iterator[Problem]:
    for file in _files(tree):
        for key, (line, column) in islice(Positions(tree[file]).repeated_keys(), _MOST_OF_A_FILE):
            yield Problem(message=f"key {key[:100]!r} is given again", place=Place(file=file), at=(line, column))


def _files(tree: Tree) -> Iterator[str]:
    for file in tree:
        folder, _, name = file.rpartition("/")
        if folder == "manifests" or (folder == "metadata" and name.endswith(_METADATA_SUFFIXES)):
            yield file
