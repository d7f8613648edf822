"""Judges a stored object: what a new schema makes of it that the old one does not."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from rukpak_py.apply.crd_safety.schema import Schema
from rukpak_py.apply.crd_safety.upgrade import Comparison
from rukpak_py.apply.crd_safety.validation import Offence, validate
from rukpak_py.apply.crd_safety.values import drop_nulls, prune, set_defaults
from rukpak_py.apply.crd_safety.verdicts import Rule, Verdict
from rukpak_py.core.text import counted, named

NAMED = 3  # objects of one offence
GROUPS = 50  # of offences; the objects of more are counted


def judge(obj: bytes, comparison: Comparison) -> list[Offence]:
    all_found = _judged(orjson.loads(obj), comparison.new, comparison, prunes=comparison.prunes)
    found = [one for one in all_found if one.rule not in comparison.skips]
    if not found or comparison.old is None:
        return found
    former = {
        (one.rule, one.path) for one in _judged(orjson.loads(obj), comparison.old, comparison, prunes=comparison.pruned)
    }
    return [one for one in found if (one.rule, one.path) not in former]


def _judged(value: Any, schema: Schema, comparison: Comparison, *, prunes: bool) -> list[Offence]:
    dropped: list[Offence] = []
    if prunes:
        dropped += (_loss(Rule.FIELD, path, comparison) for path in prune(value, schema))
    dropped += (_loss(Rule.NULL, path, comparison) for path in drop_nulls(value, schema))
    set_defaults(value, schema)
    return list(dict.fromkeys([*dropped, *validate(value, schema)]))


def _loss(rule: Rule, path: str, comparison: Comparison) -> Offence:
    what = (
        "a null that the schema does not allow any more"
        if rule is Rule.NULL
        else "a value that the schema does not have"
    )
    verdict = Verdict.LOSES if comparison.is_stored else Verdict.WARN
    return Offence(rule=rule, path=path, text=f"{what} is dropped", verdict=verdict)


@dataclass(slots=True)
class Offenders:
    """Objects of one offence."""

    first: list[str] = field(default_factory=list)
    count: int = 0

    def __str__(self) -> str:
        more = self.count - len(self.first)
        return f"{named(self.first, NAMED)}{f' and {more} more' if more else ''}"


@dataclass(slots=True)
class Offences:
    """Offences of all objects of a CRD: bounded, whatever the objects are."""

    version: str
    groups: dict[Offence, Offenders] = field(default_factory=lambda: defaultdict(Offenders))
    left_out: Counter[Verdict] = field(default_factory=Counter)

    def add(self, name: str, found: Iterable[Offence]) -> None:
        for offence in found:
            if offence not in self.groups and len(self.groups) >= GROUPS:
                self.left_out[offence.verdict] += 1
                continue
            offenders = self.groups[offence]
            offenders.count += 1
            if len(offenders.first) < NAMED:
                offenders.first.append(name)

    def statements(self, verdict: Verdict) -> Iterator[str]:
        for offence, offenders in self.groups.items():
            if offence.verdict is verdict:
                where = f"version {self.version}, {counted(offenders.count)}: {offenders}"
                yield f"{offence.path or 'the object'}: {offence.text} ({where}){_warning(offence)}"
        if self.left_out[verdict]:
            yield f"and {counted(self.left_out[verdict], 'more offence')} in version {self.version}"


def _warning(offence: Offence) -> str:
    return ", and nothing of it can be written, not even its finalizers be removed" if offence.is_root else ""
