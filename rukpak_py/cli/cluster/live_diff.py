"""`rukpakctl diff`: content against what is in the cluster, by dry runs with the rights of the user.

The same decisions as in the operator say what becomes of an object, and the API server says what it would store, as for
the operator's field manager. All objects are asked about, also those whose content is installed: another client may
have changed them.
"""

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.conditions import brief
from rukpak_py.api.names import OWNER_NAME_LABEL, REGISTRY_CLASS, TEMPLATE_HASH_LABEL
from rukpak_py.api.reading import read_bundle
from rukpak_py.api.template_hash import specs_equal, template_hash_of
from rukpak_py.apply.instances import versions_of, with_foreign_instances
from rukpak_py.apply.kinds import KindState, missing_kinds_brief
from rukpak_py.apply.object_writer import preview
from rukpak_py.apply.observed_object import ObservedObject, observed_object
from rukpak_py.apply.plan import TAKES, Action, Change, Plan, left_content, make_plan
from rukpak_py.apply.planned_fields import changed_fields
from rukpak_py.apply.read_live import missing_deployments
from rukpak_py.apply.removed_objects import PrunePolicy, kept_for_instances
from rukpak_py.apply.replacing import is_replaceable, why_not_deleted
from rukpak_py.apply.target import LastApplied, Target
from rukpak_py.apply.upgrade_document import Basis, PlannedAction, PlannedObject
from rukpak_py.apply.upgrade_report import name_of
from rukpak_py.cli.cluster.reading import tree_of
from rukpak_py.cli.cluster.session import ClusterSession
from rukpak_py.cli.cluster.wanted_content import ContentNotComparedError, GivenContent, WantedContent, wanted_content
from rukpak_py.cli.reports.fields import REFUSED
from rukpak_py.core.errors import AccessError, RukPakError
from rukpak_py.core.keyed_digests import DigestKey
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import InvalidError, NotFoundError
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import BUNDLES, Resource

WHY_CHARACTERS = 500  # of a refusal
Objects = dict[ObjectKey, ObservedObject]


async def compare(
    client: Client,
    deployment: BundleDeployment,
    given: GivenContent,
    *,
    system_namespace: str,
    helm: str | None = None,
) -> tuple[list[PlannedObject], int]:
    """Objects that differ, and the number of hooks, which are not compared."""
    discovery = Discovery(client)
    await discovery.refresh()
    wanted = await wanted_content(client, discovery, deployment, given, system_namespace=system_namespace, helm=helm)
    target = _target(client, discovery, wanted)
    plan = await _plan(client, discovery, wanted, target)
    found = [*_dropped(plan, prunes=deployment.spec.prune.enabled), *await _changed(plan, target, wanted)]
    found += _of_kinds_to_come(wanted)
    order = [REFUSED, *PlannedAction]
    return sorted(found, key=lambda one: order.index(one.action)), wanted.hooks


async def content_of_template(cluster: ClusterSession, deployment: BundleDeployment) -> GivenContent:
    """Content that the deployment asks for today, as the operator serves it."""
    name, template = deployment.metadata.name, deployment.spec.template.spec
    if deployment.spec.provisioner_class == REGISTRY_CLASS:
        raise ContentNotComparedError(
            f'the operator serves an OLM bundle converted: give its path or image, or use "rukpakctl plan {name}"'
        )
    selector = f"{OWNER_NAME_LABEL}={name},{TEMPLATE_HASH_LABEL}={template_hash_of(deployment)}"
    listing = await cluster.client.list_metadata(BUNDLES, label_selector=selector)
    for one in listing.items:
        bundle = read_bundle(await cluster.client.get(BUNDLES, "", one.metadata.name))
        owner = bundle.metadata.controller
        if owner is not None and owner.uid == deployment.metadata.uid and specs_equal(bundle.spec, template):
            return await _served(cluster, bundle, deployment)
    raise ContentNotComparedError(f"BundleDeployment {name} has no Bundle of its template yet")


async def _served(cluster: ClusterSession, bundle: Bundle, deployment: BundleDeployment) -> GivenContent:
    """A Bundle of another class is served in the form of the deployment's."""
    tree = await tree_of(cluster, bundle.metadata.name)
    return GivenContent(tree=tree, is_directory=False, bundle_class=deployment.spec.provisioner_class_name)


def _target(client: Client, discovery: Discovery, wanted: WantedContent) -> Target:
    known = {one.group_kind: one for one in wanted.resolution.served}

    def resource_of(key: ObjectKey) -> Resource:
        resource = known.get(key.group_kind) or discovery.preferred(key.group, key.kind)
        if resource is None:
            raise ContentNotComparedError(f"the cluster does not serve the kind {key.group_kind}")
        return resource

    return Target(
        owner=wanted.attempt.owner, last_applied=LastApplied(), resource_of=resource_of, client=client, adopts=True
    )


async def _plan(client: Client, discovery: Discovery, wanted: WantedContent, target: Target) -> Plan:
    attempt, owner = wanted.attempt, wanted.attempt.owner
    states = wanted.resolution.states
    usable = [one for one in wanted.desired if states[one.head.gvk] is KindState.SERVED]
    owned = await _owned(client, discovery, attempt.deployment)
    live = await _live(target, [one.key for one in usable], owned)
    keys = {one.key for one in wanted.desired}
    later = {one.key for one in wanted.desired} - {one.key for one in usable}
    owned = {key: one for key, one in owned.items() if key not in later}
    policy = PrunePolicy(
        overrides=attempt.options.overrides,
        install_namespace=attempt.namespace,
        kept=kept_for_instances(attempt.deployment.status.kept),
        create_only={one.key for one in wanted.desired if one.create_only},
    )
    policy = await with_foreign_instances(
        client,
        policy,
        left_content(owned, keys, owner),
        versions_of=partial(versions_of, discovery.served),
        owner_uid=owner.uid,
        wanted=keys,
    )
    return make_plan(
        usable,
        live=live,
        owned=owned,
        fields={},
        owner=owner,
        adopt=attempt.deployment.spec.adopt,
        missing_deployments=await missing_deployments(client, live.values(), owner),
        prune_policy=policy,
    )


async def _owned(client: Client, discovery: Discovery, deployment: BundleDeployment) -> Objects:
    """Objects with the label of the deployment, of the kinds that its status records."""
    found: Objects = {}

    async def look(place: tuple[Resource, str]) -> None:
        resource, namespace = place
        selector = f"{OWNER_NAME_LABEL}={deployment.metadata.name}"
        listing = await client.list_metadata(resource, namespace, label_selector=selector)
        for one in listing.items:
            found[one.key] = observed_object(one.key, resource.gvk, one.metadata)

    places = list[tuple[Resource, str]]()
    for kind in deployment.status.kinds:
        gvk = GroupVersionKind(kind.group, kind.version, kind.kind)
        resource = discovery.find(gvk) or discovery.preferred(kind.group, kind.kind)
        if resource is not None:
            places += [(resource, namespace) for namespace in kind.namespaces or ("",)]
    await run_bounded(look, places)
    return found


async def _live(target: Target, keys: Iterable[ObjectKey], owned: Objects) -> Objects:
    found: Objects = {}

    async def look(key: ObjectKey) -> None:
        if key in owned:
            found[key] = owned[key]
            return
        resource = target.resource_of(key)
        try:
            metadata = await target.client.get_metadata(resource, key.namespace, key.name)
        except NotFoundError:
            return
        found[key] = observed_object(key, resource.gvk, metadata)

    await run_bounded(look, keys)
    return found


def _dropped(plan: Plan, *, prunes: bool) -> Iterator[PlannedObject]:
    dropped = PlannedAction.PRUNED if prunes else PlannedAction.KEPT
    for one in plan.prune:
        yield PlannedObject(object=name_of(one.key), action=dropped)
    for key in (*(one.key for one in plan.keep), *(one.key for one in plan.release)):
        yield PlannedObject(object=name_of(key), action=PlannedAction.KEPT)


def _of_kinds_to_come(wanted: WantedContent) -> Iterator[PlannedObject]:
    states = wanted.resolution.states
    for one in wanted.desired:
        if states[one.head.gvk] is KindState.NEW:
            why = "its kind comes with the content"
            yield PlannedObject(object=name_of(one.key), action=PlannedAction.CREATED, why=why)
    for head in wanted.resolution.missing:
        yield PlannedObject(object=name_of(head.key), action=REFUSED, why=missing_kinds_brief([head]))


async def _changed(plan: Plan, target: Target, wanted: WantedContent) -> list[PlannedObject]:
    found, key = list[PlannedObject](), DigestKey.new()

    async def compare_one(change: Change) -> None:
        one = await _compared(change, target, wanted, key)
        if one is not None:
            found.append(one)

    await run_bounded(compare_one, plan.changes)
    order = {change.key: at for at, change in enumerate(plan.changes)}
    return sorted(found, key=lambda one: order[ObjectKey(*_parts(one))])


def _parts(one: PlannedObject) -> tuple[str, str, str, str]:
    name = one.object
    return name.group, name.kind, name.namespace, name.name


async def _compared(change: Change, target: Target, wanted: WantedContent, key: DigestKey) -> PlannedObject | None:
    """None: nothing differs."""
    name, hide = name_of(change.key), wanted.attempt.state.mask.hide
    match change.action:
        case Action.SPARE | Action.SHARE:
            return None
        case Action.REFUSE | Action.WAIT:
            return PlannedObject(object=name, action=REFUSED, why=change.reason)
    action: str = PlannedAction.CREATED if change.live is None else PlannedAction.CHANGED
    action = PlannedAction.TAKEN if change.action in TAKES else action
    if change.action is Action.CREATE_ONCE:
        return PlannedObject(object=name, action=action)
    try:
        live, stored = await preview(target, change)
    except AccessError:
        raise  # of the user, to whom it is told
    except RukPakError as error:
        if isinstance(error, NotFoundError) and change.live is None:
            return PlannedObject(object=name, action=action, why="its namespace does not exist yet")
        is_replaced = isinstance(error, InvalidError) and change.desired.force and is_replaceable(error)
        action = PlannedAction.REPLACED if is_replaced and not why_not_deleted(change) else REFUSED
        return PlannedObject(object=name, action=action, why=brief(hide(str(error)), WHY_CHARACTERS))
    if live is None:
        return PlannedObject(object=name, action=action, basis=Basis.DRY_RUN)
    fields = await asyncio.to_thread(
        changed_fields, live, stored, ignored=change.desired.ignored, hide=hide, digest=key.digest
    )
    if not fields.fields and action is PlannedAction.CHANGED:
        return None
    return PlannedObject(
        object=name, action=action, basis=Basis.DRY_RUN, fields=list(fields.fields), left_out=fields.left_out
    )
