"""Kubernetes YAML: files and streams as sigs.k8s.io/yaml and apimachinery's stream decoder read them.

A stream is cut into documents before any YAML parser sees it (yaml_streams); within such a chunk only the first YAML
document counts. Values are what an unstructured object holds: None, bool, int (signed 64 bit), float, str, list, dict
with text keys. Every failure is a ContentError: a YamlError that says where in the file, or a limit.
"""

from collections.abc import Iterator
from typing import Any

from rukpak_py.content.yaml_aliases import AliasBudget
from rukpak_py.content.yaml_documents import load_document
from rukpak_py.content.yaml_streams import JsonValue, check_size, pieces
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits


def load(data: bytes, *, limits: Limits = DEFAULT_LIMITS, unsigned: bool = False) -> Any:
    """The first document of a file that is not a stream (annotations, dependencies, chart metadata).

    `unsigned`: integers up to unsigned 64 bit stay integers, as in JSON that is passed on and not decoded.
    """
    check_size(data, limits)
    value, _ = load_document(data, limits=limits, unsigned=unsigned)
    return value


def load_all(data: bytes, *, limits: Limits = DEFAULT_LIMITS, aliases: AliasBudget | None = None) -> list[Any]:
    """Every document of a stream; an empty one (comments only) is None.

    `aliases`: the budget that this file shares with the other files of its bundle.
    """
    return list(documents(data, limits=limits, aliases=aliases))


def documents(
    data: bytes,
    *,
    limits: Limits = DEFAULT_LIMITS,
    aliases: AliasBudget | None = None,
    are_decoded: bool = False,
    unsigned: bool = False,
) -> Iterator[Any]:
    """The same one by one: those in front of a defect come out before its error.

    `are_decoded`: as readers do that decode each value at once, see `pieces`. `unsigned`: as `load` has it, in YAML.
    """
    check_size(data, limits)
    aliases = AliasBudget(limits) if aliases is None else aliases
    nodes = 0
    for piece in pieces(data, limits, are_decoded=are_decoded):
        if isinstance(piece, JsonValue):
            yield piece.value
            continue
        chunk, line, column = piece
        value, nodes = load_document(
            chunk, limits=limits, line=line, column=column, nodes=nodes, aliases=aliases, unsigned=unsigned
        )
        yield value
