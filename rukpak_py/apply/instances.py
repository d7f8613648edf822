"""Foreign objects that a deletion of a CRD or Namespace would delete: how many, and the names of a few.

A CRD says nothing of its instances, so they are listed, metadata only, page by page, in any version that answers: where
a conversion webhook is down, the version that is stored may still be listed. Where every instance counts one request is
enough.

The contents of a Namespace count likewise, because its deletion deletes them: Pods, claims, Services, Secrets and
ConfigMaps that are there now and not of the deployment, without the ConfigMap that Kubernetes itself puts there.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from rukpak_py.api.names import OWNER_UID_ANNOTATION
from rukpak_py.apply.observed_object import ObservedObject, observed_object
from rukpak_py.apply.prune_policy import ForeignInstances, Instances, PruneFate, UnlistedInstances
from rukpak_py.apply.removed_objects import DEFAULT_PRUNE_POLICY, PrunePolicy
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import PAGE, Client
from rukpak_py.kube.discovery_documents import Served
from rukpak_py.kube.errors import ApiError, GoneError, NotFoundError
from rukpak_py.kube.metadata import LiveObject, Metadata
from rukpak_py.kube.resources import CLAIMS, CONFIG_MAPS, PODS, SECRETS, SERVICES, Resource

NAMED = 5  # instances that a message names

VersionsOf = Callable[[str], Sequence[Resource]]  # by the name of a CRD: how its instances are served


def versions_of(served: Served, crd: str) -> list[Resource]:
    """The preferred version first. Empty: the server does not show the kind, which proves nothing about instances."""
    found = [one for one in served.resources.values() if f"{one.plural}.{one.gvk.group}" == crd]
    return sorted(found, key=lambda one: one != served.preferred.get(one.group_kind))


async def instances_of(
    client: Client,
    resource: Resource,
    *,
    namespace: str = "",
    at_most: int = NAMED,
    counts: Callable[[LiveObject], bool] | None = None,
) -> Instances:
    """The instances that count; with `counts`, no more are looked for than are named."""
    limit = at_most if counts is None else PAGE
    found: list[LiveObject] = []
    token = ""
    while True:
        page = await client.list_page(resource, namespace, limit=limit, token=token)
        found += [one for one in page.items if counts is None or counts(one)]
        if not page.token or counts is None or len(found) >= at_most:
            break
        token = page.token
    rest = 0 if counts is not None else page.remaining
    return Instances(
        kind=resource.gvk.kind,
        first=tuple(one.key for one in found[:at_most]),
        held_by=tuple(tuple(one.metadata.finalizers) if one.metadata.is_deleted else () for one in found[:at_most]),
        count=len(found) + (rest or 0),
        is_exact=not page.token or bool(rest),
    )


async def with_foreign_instances(
    client: Client,
    policy: PrunePolicy,
    leaving: Collection[ObservedObject],
    *,
    versions_of: VersionsOf,
    owner_uid: str,
    wanted: Collection[ObjectKey],
) -> PrunePolicy:
    """The policy, with what it must know about the instances of the CRDs that left the content. Mostly no request."""
    crds = policy.crds_to_list(leaving)
    found = await foreign_instances(
        client, crds, policy=policy, versions_of=versions_of, owner_uid=owner_uid, wanted=wanted
    )
    return replace(policy, instances=found)


async def foreign_instances_of(
    client: Client, crd: ObservedObject, *, versions_of: VersionsOf, owner_uid: str
) -> ForeignInstances:
    """The instances that this deployment does not own, or would not delete."""
    found = await foreign_instances(
        client, [crd], policy=DEFAULT_PRUNE_POLICY, versions_of=versions_of, owner_uid=owner_uid, wanted=()
    )
    return found[crd.key]


async def foreign_instances(
    client: Client,
    crds: Iterable[ObservedObject],
    *,
    policy: PrunePolicy,
    versions_of: VersionsOf,
    owner_uid: str,
    wanted: Collection[ObjectKey],
) -> Mapping[ObjectKey, ForeignInstances]:
    """The instances of each CRD that are not pruned together with it.

    Pruned together with it is what the deployment controls, unless the content still has it (`wanted`) or the policy
    spares it.
    """

    def stays(resource: Resource, one: LiveObject) -> bool:
        live = observed_object(one.key, resource.gvk, one.metadata)
        is_ours = live.owner_uid == owner_uid and live.is_proven_of(owner_uid)
        return not is_ours or live.key in wanted or policy.fate(live).fate is not PruneFate.PRUNE

    return {crd.key: await _foreign(client, versions_of(crd.key.name), stays) for crd in crds}


async def _foreign(
    client: Client, versions: Sequence[Resource], stays: Callable[[Resource, LiveObject], bool]
) -> ForeignInstances:
    unlisted = UnlistedInstances(why="the API server does not serve them")
    for resource in versions:
        try:
            return await _again_when_expired(client, resource, partial(stays, resource))
        except ApiError as error:
            unlisted = UnlistedInstances(why=error.message)
    return unlisted


async def _again_when_expired(client: Client, resource: Resource, counts: Callable[[LiveObject], bool]) -> Instances:
    """A list that took too long is history half-way: once more from the first page."""
    with suppress(GoneError):
        return await instances_of(client, resource, counts=counts)
    return await instances_of(client, resource, counts=counts)


COUNTING = (PODS, CLAIMS, SERVICES, SECRETS, CONFIG_MAPS)
ROOT_CA = "kube-root-ca.crt"


async def foreign_contents(client: Client, namespace: str, owner_uid: str) -> list[ForeignInstances]:
    """Foreign objects of each kind of which there are any, or which could not be listed."""
    found: list[ForeignInstances] = []
    for resource in COUNTING:

        def counts(one: LiveObject, resource: Resource = resource) -> bool:
            is_shared = resource == CONFIG_MAPS and one.key.name == ROOT_CA
            return not (is_shared or one.metadata.is_deleted or _is_of(one.metadata, owner_uid))

        try:
            contents = await instances_of(client, resource, namespace=namespace, at_most=NAMED, counts=counts)
        except NotFoundError:
            continue
        except ApiError as error:
            found.append(UnlistedInstances(why=f"{resource.plural} could not be listed: {error.message}"))
            continue
        if contents.count:
            found.append(contents)
    return found


def _is_of(metadata: Metadata, owner_uid: str) -> bool:
    """Applied for the deployment, or made by it: hooks, certificates."""
    is_referred_to = any(one.uid == owner_uid for one in metadata.owner_references)
    return is_referred_to or metadata.annotations.get(OWNER_UID_ANNOTATION) == owner_uid
