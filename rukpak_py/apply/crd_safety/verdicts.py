"""Verdicts about a change of a CRD: what becomes of objects that are stored.

An API server forgives an error of a stored object as long as the node that has it stays as it is (ratcheting). So an
error freezes its node: nothing in it can be edited before the error is repaired. The verdict is by how much that is.

* a value, a map, a list: only that is frozen, `WARN`;
* an object with named fields, whose siblings are edited by others: `BREAKS`;
* the whole object, down to its labels and finalizers: `BREAKS`, and the message says so;
* wrong types and items without their keys, which no server-side apply can read: `BREAKS`.

What is dropped from objects is lost: `LOSES`, and no setting lets it pass.
"""

from dataclasses import dataclass
from enum import IntEnum, StrEnum, auto


class Verdict(IntEnum):
    NOTE = auto()  # cannot be checked, or concerns clients
    WARN = auto()
    BREAKS = auto()  # objects; `spec.crdSafety: Warn` lets it pass
    LOSES = auto()  # values, versions or all objects


class Rule(StrEnum):
    """A kind of error or change. The values stand in documents of `bundle diff -o json`."""

    SCOPE = "ScopeChanged"
    STORED_VERSION = "StoredVersionRemoved"
    VERSION = "VersionRemoved"
    FIELD = "FieldRemoved"
    NULL = "NullRemoved"
    TYPE = "TypeChanged"
    MAP_KEYS = "ListMapKeys"
    REQUIRED = "Required"
    COMPOSITION = "Composition"
    SIZE = "Size"
    VALUE = "Value"
    DUPLICATES = "Duplicates"
    DEFAULT = "DefaultChanged"
    CEL = "NotChecked"


ANY_KEY = "*"  # of a map: in a path, all its keys
LOSSES = frozenset({Rule.SCOPE, Rule.STORED_VERSION, Rule.FIELD, Rule.NULL})
NOTES = frozenset({Rule.VERSION, Rule.DEFAULT, Rule.CEL})
# Values of an object decide whether it fits these; for the others its fields and their types do.
OF_VALUES = frozenset({Rule.COMPOSITION, Rule.SIZE, Rule.VALUE, Rule.DUPLICATES})


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """The node that an error freezes. `path` is the field as a user reads it: `spec.items[].size`."""

    path: str = ""
    is_struct: bool = True
    in_atomic: bool = False  # inside of a list that is one value: that list is what freezes

    @property
    def is_root(self) -> bool:
        return not self.path


def verdict_of(rule: Rule, node: Node) -> Verdict:
    if rule in LOSSES:
        return Verdict.LOSES
    if rule in NOTES:
        return Verdict.NOTE
    if rule in {Rule.TYPE, Rule.MAP_KEYS} or node.is_root:
        return Verdict.BREAKS
    if node.in_atomic:
        return Verdict.WARN
    if rule is Rule.REQUIRED or (rule in {Rule.COMPOSITION, Rule.SIZE} and node.is_struct):
        return Verdict.BREAKS
    return Verdict.WARN


def below(path: str, name: str) -> str:
    """Path of a field. Names that would read as several are quoted."""
    step = name if name == ANY_KEY or name.replace("-", "").replace("_", "").isalnum() else f'["{name}"]'
    return f"{path}.{step}" if path and not step.startswith("[") else f"{path}{step}"
