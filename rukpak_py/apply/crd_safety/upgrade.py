"""An upgrade of a CRD as a value: what changes for its objects, and which objects have to be looked at for it.

Without a conversion webhook an object is the same in all versions, so one list of the objects, in the version that they
are stored in, says everything. With one each version that changes is listed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rukpak_py.apply.crd_safety.definition import Definition
from rukpak_py.apply.crd_safety.schema import Schema
from rukpak_py.apply.crd_safety.schema_changes import SchemaChange, schema_changes
from rukpak_py.apply.crd_safety.verdicts import LOSSES, OF_VALUES, Node, Rule, Verdict, verdict_of


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One version of a CRD before and after. `old` None: the version is new, and stored objects are read with it.

    `prunes`, `pruned`: whether objects lose what the new schema, or the old one, does not have. `is_stored`: objects
    are written in this version, too. `skips`: rules that no object is judged by.
    """

    version: str
    old: Schema | None
    new: Schema
    prunes: bool = True
    pruned: bool = True
    is_stored: bool = True
    skips: frozenset[Rule] = frozenset()

    def without_values(self) -> "Comparison":
        old = self.old.without_values() if self.old is not None else None
        return replace(self, old=old, new=self.new.without_values(), skips=OF_VALUES)


@dataclass(frozen=True, kw_only=True)
class CrdUpgrade:
    """`lists`: by the version to list, what its objects are compared with. Mostly empty."""

    name: str
    changes: tuple[SchemaChange, ...]
    lists: Mapping[str, tuple[Comparison, ...]]

    @property
    def refused(self) -> tuple[SchemaChange, ...]:
        """Changes that are refused whatever objects there are."""
        return tuple(one for one in self.changes if one.verdict is Verdict.LOSES and not one.needs_objects)

    def without_values(self) -> "CrdUpgrade":
        """The same, with the rules of values not checked: what is found says which fields objects have, and no more."""
        changes = [
            replace(one, rule=Rule.CEL, verdict=Verdict.NOTE, text=f"{one.text}; not checked")
            if one.rule in OF_VALUES
            else one
            for one in self.changes
        ]
        changed = {one.version for one in changes if one.needs_objects}
        kept = {
            version: tuple(one.without_values() for one in comparisons if one.version in changed)
            for version, comparisons in self.lists.items()
        }
        return replace(self, changes=tuple(changes), lists={version: found for version, found in kept.items() if found})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Compared:
    comparison: Comparison
    changes: tuple[SchemaChange, ...]


def compare_definitions(old: Definition, new: Definition) -> CrdUpgrade:
    compared = list(_compared(old, new))
    changes = [*_of_versions(old, new), *(change for one in compared for change in one.changes)]
    lists: dict[str, list[Comparison]] = {}
    for one in compared:
        if not any(change.needs_objects for change in one.changes):
            continue
        version = _listed(old, one.comparison.version)
        if version:
            lists.setdefault(version, []).append(one.comparison)
        else:
            changes.append(_change(Rule.CEL, "no version is served in which its objects could be listed", one))
    return CrdUpgrade(
        name=new.name,
        changes=tuple(dict.fromkeys(changes)),
        lists={version: tuple(comparisons) for version, comparisons in lists.items()},
    )


def _of_versions(old: Definition, new: Definition) -> Iterator[SchemaChange]:
    if old.scope != new.scope:
        text = f"the scope changed from {old.scope} to {new.scope}"
        yield SchemaChange(rule=Rule.SCOPE, path="", text=text, verdict=Verdict.LOSES)
    removed = [name for name in old.stored if name not in new.versions]
    if removed:
        text = f"cannot remove stored versions [{' '.join(removed)}]"
        yield SchemaChange(rule=Rule.STORED_VERSION, path="", text=text, verdict=Verdict.LOSES)
    for name, version in old.versions.items():
        now = new.versions.get(name)
        if version.served and name not in removed and (now is None or not now.served):
            text = "the version is not served any more"
            yield SchemaChange(rule=Rule.VERSION, path="", text=text, verdict=Verdict.NOTE, version=name)


def _compared(old: Definition, new: Definition) -> Iterator[_Compared]:
    former_storage = old.versions.get(old.storage)
    for name, version in new.versions.items():
        prior = old.versions.get(name)
        is_stored = name == new.storage
        if prior is not None:
            yield _pair(name, prior.schema, version.schema, old, new, is_stored=is_stored or name in old.stored)
        is_read_from_storage = former_storage is not None and former_storage.name != name and not new.converts
        if former_storage is None or not is_read_from_storage:
            continue
        if prior is None or old.converts or (is_stored and new.storage != old.storage):
            yield _pair(name, former_storage.schema, version.schema, old, new, is_stored=is_stored)


def _pair(
    name: str, old_schema: Schema, new_schema: Schema, old: Definition, new: Definition, *, is_stored: bool
) -> _Compared:
    comparison = Comparison(
        version=name, old=old_schema, new=new_schema, prunes=new.prunes, pruned=old.prunes, is_stored=is_stored
    )
    changes = [replace(one, version=name) for one in schema_changes(old_schema, new_schema)]
    if new.prunes and not old.prunes:
        text = "spec.preserveUnknownFields was removed: fields without a schema are dropped"
        changes.append(SchemaChange(rule=Rule.FIELD, path="", text=text, verdict=Verdict.LOSES, version=name))
    if not new.prunes:
        changes = [one for one in changes if one.rule is not Rule.FIELD]
    if not is_stored:
        changes = [replace(one, verdict=Verdict.WARN) if one.rule in LOSSES else one for one in changes]
    return _Compared(comparison=comparison, changes=tuple(changes))


def _listed(old: Definition, version: str) -> str:
    served = [one.name for one in old.versions.values() if one.served]
    if old.converts:
        return version if version in served else ""
    preferred = [name for name in (old.storage, version, *served) if name in served]
    return preferred[0] if preferred else ""


def _change(rule: Rule, text: str, one: _Compared) -> SchemaChange:
    return SchemaChange(rule=rule, path="", text=text, verdict=verdict_of(rule, Node()), version=one.comparison.version)
