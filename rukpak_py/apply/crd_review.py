"""Reviews the upgrade of a CRD: what is in the cluster, what it becomes, and what becomes of the stored objects.

Two kinds of requests, and only where they are needed: one for the CRD, and a list of its objects where a schema changed
so that only they can tell. All are made with the identity of the client.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rukpak_py.api.names import SAFE_CRD_UPGRADE_ANNOTATION
from rukpak_py.apply.crd_safety.definition import Definition, UnreadableDefinitionError, read_definition
from rukpak_py.apply.crd_safety.judging import Offences
from rukpak_py.apply.crd_safety.upgrade import CrdUpgrade, compare_definitions
from rukpak_py.apply.crd_safety.values import ExcessiveDefaultsError
from rukpak_py.apply.crd_safety.verdicts import Rule, Verdict
from rukpak_py.apply.stored_objects import judge_stored, to_the_end
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import Resource

NAMED_STATEMENTS = 10  # statements of a message
OBJECTS_DO_NOT_FIT = "error validating existing CRs against new CRD's schema"


@dataclass(frozen=True, kw_only=True, slots=True)
class CrdReview:
    """`loses` and `breaks` refuse it, each statement with the objects and the field; `warns` does not.

    `warns` also names versions that are not served any more: clients may still ask for them.
    `unlisted`: why objects could not be listed; nothing is known of them.
    """

    name: str
    loses: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    warns: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()
    unlisted: ApiError | None = None
    refused_for_itself: bool = False  # whatever objects there are


async def review_upgrade(
    client: Client, live: bytes | Mapping[str, Any], new: bytes | Mapping[str, Any], *, reads_values: bool = True
) -> CrdReview:
    """Raises `UnreadableDefinitionError` where one of the CRDs is none.

    Without `reads_values` rules that values of objects decide are not checked.
    """
    try:
        old, upgrade = await to_the_end(asyncio.to_thread(_compared, live, new))
        return await _review(client, old, upgrade if reads_values else upgrade.without_values())
    except RecursionError as error:
        raise UnreadableDefinitionError("it nests too deeply") from error
    except ExcessiveDefaultsError as error:
        raise UnreadableDefinitionError(str(error)) from error


def _compared(live: bytes | Mapping[str, Any], new: bytes | Mapping[str, Any]) -> tuple[Definition, CrdUpgrade]:
    """Takes seconds for large CRDs. Nothing changes in one whose check is switched off."""
    old, wanted = read_definition(live), read_definition(new)
    if is_switched_off(old) or is_switched_off(wanted):
        return old, CrdUpgrade(name=wanted.name, changes=(), lists={})
    return old, compare_definitions(old, wanted)


def is_switched_off(definition: Definition) -> bool:
    return definition.annotations.get(SAFE_CRD_UPGRADE_ANNOTATION) == "false"


async def _review(client: Client, old: Definition, upgrade: CrdUpgrade) -> CrdReview:
    not_checked = tuple(str(one) for one in upgrade.changes if one.rule is Rule.CEL)
    if upgrade.refused:
        loses = tuple(one.text for one in upgrade.refused)
        return CrdReview(name=upgrade.name, loses=loses, not_checked=not_checked, refused_for_itself=True)
    found: list[Offences] = []
    try:
        for version, comparisons in upgrade.lists.items():
            found += await judge_stored(client, _resource(old, version), comparisons)
    except ApiError as error:
        return CrdReview(name=upgrade.name, unlisted=error, not_checked=not_checked)
    return CrdReview(
        name=upgrade.name,
        loses=tuple(_statements(found, Verdict.LOSES)),
        breaks=tuple(_statements(found, Verdict.BREAKS)),
        warns=(
            *(str(one) for one in upgrade.changes if one.rule is Rule.VERSION),
            *_statements(found, Verdict.WARN),
        ),
        not_checked=not_checked,
    )


def _statements(found: list[Offences], verdict: Verdict) -> Iterator[str]:
    for offences in found:
        yield from offences.statements(verdict)


def _resource(definition: Definition, version: str) -> Resource:
    gvk = GroupVersionKind(definition.group, version, definition.kind)
    return Resource(gvk=gvk, plural=definition.plural, namespaced=definition.scope == "Namespaced")
