"""Upgrades of real bundles and of charts do what their plan says, to the object and the field.

The plan is read while the upgrade waits, the objects before and after it, and the audit log between. A few bundles and
charts are tried; with RUKPAK_PLANS=all it is every second bundle of the corpus and all charts. Where a gate refuses the
second version there is a plan, and no upgrade.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from e2e.cluster.audit import audited
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import APPROVED_ANNOTATION, OWNER_NAME_LABEL
from rukpak_py.apply.planned_fields import FieldChanges, changed_fields
from rukpak_py.apply.upgrade_document import ObjectName, PlannedAction, UpgradeDocument
from rukpak_py.core.keyed_digests import DigestKey
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import AlreadyExistsError, ApiError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, NAMESPACES
from tests.corpus.installing import Installer
from tests.corpus.place import BUNDLES, needs_corpus
from tests.corpus.real_bundles import batches, real_bundle
from tests.integration.listing import listed
from tests.integration.operator.charts_of_kinds import templates_of
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK
from tests.integration.operator.installed_content import Archives, InstalledContent
from tests.integration.operator.planning import plan_for
from tests.integration.operator.process import Operator
from tests.integration.operator.real_contents import (
    FEW,
    REFUSED,
    content_of_bundle,
    content_of_chart,
    contents_of_suite,
)
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document
from tests.unit.web_servers import serving

ARE_ALL = os.environ.get("RUKPAK_PLANS") == "all"
AT_ONCE = 6
SECONDS = 120.0
FEW_CHARTS = ("web", "hooks", "stateful")
REVISION = "deployment.kubernetes.io/revision"  # by the controller of Deployments
KEY = DigestKey.new()


@dataclass(frozen=True, kw_only=True, order=True)
class Key:
    group: str
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Upgraded:
    """`written`: objects of the content that the operator asked to change between the approval and the end."""

    plan: UpgradeDocument
    before: dict[Key, Document]
    after: dict[Key, Document]
    written: set[Key]


def differences(seen: Upgraded) -> Iterator[str]:
    """Lines for what the plan says and does not happen, or the other way round."""
    told = {key_of(one.object): one for one in seen.plan.objects}
    planned = {action: {key for key, one in told.items() if one.action == action} for action in PlannedAction}
    kept, there = planned[PlannedAction.KEPT], seen.before.keys() & seen.after.keys()
    replaced = {key for key in there if _uid(seen.before[key]) != _uid(seen.after[key])}
    came, went = seen.after.keys() - seen.before.keys(), seen.before.keys() - seen.after.keys()
    for what, said, happened in (
        ("created", planned[PlannedAction.CREATED] | planned[PlannedAction.TAKEN], came),
        ("gone", planned[PlannedAction.PRUNED] | kept, went),
        ("replaced", planned[PlannedAction.REPLACED], replaced),
        ("written", told.keys() - kept, seen.written - kept),  # the marks of what is kept may be removed
    ):
        yield from (f"to be {what}, and was not: {key}" for key in sorted(said - happened))
        yield from (f"{what}, and the plan does not say so: {key}" for key in sorted(happened - said))
    for key in sorted(there - replaced):
        one = told.get(key)
        if one is not None and (one.left_out or not one.basis):
            yield f"fields of {key} are not all told: {one.why or one.left_out}"
            continue
        fields = {(field.change, field.path) for field in one.fields} if one is not None else set()
        changed = {(field.change, field.path) for field in _changes(seen.before[key], seen.after[key]).fields}
        if fields != changed:
            yield f"{key}: only said {sorted(fields - changed)}, only happened {sorted(changed - fields)}"


def key_of(name: ObjectName) -> Key:
    return Key(group=name.group, kind=name.kind, namespace=name.namespace, name=name.name)


def _uid(document: Document) -> str:
    return str(document["metadata"]["uid"])


def _changes(old: Document, new: Document) -> FieldChanges:
    for one in (old, new):
        (one["metadata"].get("annotations") or {}).pop(REVISION, None)
    return changed_fields(orjson.dumps(old), orjson.dumps(new), hide=str, digest=KEY.digest)


@dataclass(kw_only=True)
class Upgrades:
    tenant: Tenant
    plane: ControlPlane
    operator: Operator
    server: str
    refused: dict[str, str] = field(default_factory=dict)
    wrong: dict[str, list[str]] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    async def of(self, contents: Sequence[InstalledContent]) -> None:
        await asyncio.gather(*map(self._judge, contents))

    async def _judge(self, content: InstalledContent) -> None:
        try:
            upgraded = await self._upgrade(content)
        except Exception as error:  # noqa: BLE001 - what goes wrong with one is told with the others
            self.wrong[content.name] = [f"{type(error).__name__}: {error}"[:2000]]
            return
        if upgraded is not None:
            self.done.append(content.name)
            if found := [*differences(upgraded)]:
                self.wrong[content.name] = found

    async def _upgrade(self, content: InstalledContent) -> Upgraded | None:
        """None: a gate refuses it."""
        admin = self.tenant.admin
        with suppress(AlreadyExistsError):  # left by another test of the same bundle
            await admin.create(NAMESPACES, "", orjson.dumps({"metadata": {"name": content.namespace}}))
        await self._deploy(content, "first")
        await self._until(content, lambda seen: condition(seen, "Installed").get("status") == "True", "installed")
        await self._deploy(content, "second")
        told = await self._until(content, _is_decided, "a plan waits or is refused")
        plan = await plan_for(self.tenant, self.plane, self.operator, name=content.name)
        if "pendingUpgrade" not in told["status"]:
            self.refused[content.name] = condition(told, "Installed")["message"]
            assert plan.state == "Refused", plan
            return None
        assert plan.digest == told["status"]["pendingUpgrade"]["digest"]
        before, skip = await self._objects(content), len(audited(self.plane.state))
        body = orjson.dumps({"metadata": {"annotations": {APPROVED_ANNOTATION: plan.digest}}})
        await admin.patch(BUNDLE_DEPLOYMENTS, "", content.name, body)
        await self._until(content, lambda seen: seen["status"]["history"][0]["revision"] == 2, "upgraded")
        await self._until(content, lambda seen: "pendingUpgrade" not in seen["status"], "over")
        after = await self._objects(content)
        return Upgraded(plan=plan, before=before, after=after, written=await self._written(before, after, plan, skip))

    async def _deploy(self, content: InstalledContent, version: str) -> None:
        self.tenant.sees_to(content.name)
        body = content.body(self.server, version)
        del body["spec"]["serviceAccountName"]
        body["spec"]["upgrades"] = {"approval": "Manual"}
        await self.tenant.admin.apply(
            BUNDLE_DEPLOYMENTS, "", content.name, orjson.dumps(body), field_manager="user", force=True
        )

    async def _until(self, content: InstalledContent, is_so: Callable[[Document], object], what: str) -> Document:
        return await self.tenant.until(is_so, what=f"{content.name}: {what}", name=content.name, seconds=SECONDS)

    async def _objects(self, content: InstalledContent) -> dict[Key, Document]:
        document = await self.tenant.deployment(content.name)
        discovery = Discovery(self.tenant.admin)
        await discovery.refresh()
        found = dict[Key, Document]()
        for kind in document["status"].get("kinds", []):
            gvk = GroupVersionKind(kind.get("group", ""), kind["version"], kind["kind"])
            resource = discovery.find(gvk) or discovery.preferred(gvk.group, gvk.kind)
            if resource is None:
                continue
            try:
                items = await listed(self.tenant.admin, resource, label_selector=f"{OWNER_NAME_LABEL}={content.name}")
            except ApiError:  # its CRD is gone
                continue
            for one in items:
                metadata = one["metadata"]
                if "deletionTimestamp" not in metadata:
                    place = {"namespace": metadata.get("namespace", ""), "name": metadata["name"]}
                    found[Key(group=gvk.group, kind=gvk.kind, **place)] = one
        return found

    async def _written(
        self, before: dict[Key, Document], after: dict[Key, Document], plan: UpgradeDocument, skip: int
    ) -> set[Key]:
        discovery = Discovery(self.tenant.admin)
        await discovery.refresh()
        keys = {key_of(one.object) for one in plan.objects} | before.keys() | after.keys()
        by_place = {}
        for key in keys:
            resource = discovery.preferred(key.group, key.kind)
            if resource is not None:
                by_place[key.group, resource.plural, key.namespace, key.name] = key
        requests = (
            one
            for one in audited(self.plane.state, skip=skip)
            if one.is_write and not one.is_dry_run and one.agent.startswith("rukpak-py/") and one.code < 300
        )
        found = (by_place.get((one.group, one.resource, one.namespace, one.name)) for one in requests)
        return {one for one in found if one is not None}


def _is_decided(seen: Document) -> bool:
    generation = seen["metadata"]["generation"]
    pending, told = condition(seen, "UpgradePending"), condition(seen, "Installed")
    waits = pending.get("status") == "True" and pending.get("observedGeneration") == generation
    is_refused = told.get("status") == "False" and told.get("observedGeneration") == generation
    return (waits and "pendingUpgrade" in seen["status"]) or is_refused


@needs_corpus
@pytest.mark.timeout(7200 if ARE_ALL else 600)
async def test_upgrades_of_bundles_do_what_their_plan_says(
    tenant: Tenant, plane: ControlPlane, operators: StartOperator, tmp_path: Path
) -> None:
    folders = sorted(BUNDLES.glob("[0-9]*"))[::2] if ARE_ALL else [BUNDLES / name for name in FEW]
    bundles = [real_bundle(one) for one in folders if one.name not in REFUSED]
    contents = {one.name: content_of_bundle(one, tmp_path) for one in bundles}
    with serving(Archives([*contents.values()])) as server:
        operator = operators(arguments=[LOOPBACK])
        await operator.start()
        upgrades = Upgrades(tenant=tenant, plane=plane, operator=operator, server=server.address)
        installer = Installer(tenant.admin, server.address)
        async with installer.watched_namespace():
            for batch in batches(bundles, AT_ONCE):
                nexts = [real_bundle(contents[one.name].second) for one in batch]
                async with installer.missing_kinds([*batch, *nexts]):
                    await upgrades.of([contents[one.name] for one in batch])
                    await installer.uninstall(batch)
    told(upgrades)


@pytest.mark.timeout(1200)
async def test_upgrades_of_charts_do_what_their_plan_says(
    tenant: Tenant, plane: ControlPlane, operators: StartOperator, helm: HelmProgram, tmp_path: Path
) -> None:
    names = [*templates_of(tenant.name)] if ARE_ALL else FEW_CHARTS
    contents = [content_of_chart(one, tmp_path, tenant.name) for one in names]
    if ARE_ALL:
        contents += contents_of_suite(tmp_path / "suite", Path(helm.path), tenant.name)
    with serving(Archives(contents)) as server:
        operator = operators(arguments=[LOOPBACK, f"--helm={helm.path}"])
        await operator.start()
        upgrades = Upgrades(tenant=tenant, plane=plane, operator=operator, server=server.address)
        await upgrades.of(contents)
    told(upgrades)


def told(upgrades: Upgrades) -> None:
    print(f"\n{len(upgrades.done)} upgrades, {len(upgrades.refused)} refused: {upgrades.refused}")  # noqa: T201 - by hand
    wrong = [f"{name}: {line}" for name, lines in upgrades.wrong.items() for line in lines]
    assert not wrong, "\n".join(wrong)
    assert upgrades.done
