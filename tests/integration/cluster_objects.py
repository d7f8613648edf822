"""All objects of a cluster, by discovery: to compare what was there with what is left."""

import asyncio

from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import KindNotServedError, NotFoundError
from rukpak_py.kube.resources import NAMESPACES, Resource

AT_ONCE = 16
PASSING = frozenset({("", "Event"), ("events.k8s.io", "Event"), ("coordination.k8s.io", "Lease")})
# Of every namespace, made by controllers of Kubernetes.
EVERYWHERE = frozenset({("", "ServiceAccount", "default"), ("", "ConfigMap", "kube-root-ca.crt")})


async def cluster_objects(client: Client) -> set[ObjectKey]:
    """Without Events and Leases, and without what Kubernetes puts into every namespace."""
    discovery = Discovery(client)
    await discovery.refresh()
    slots = asyncio.Semaphore(AT_ONCE)

    async def keys(resource: Resource) -> set[ObjectKey]:
        async with slots:
            try:
                items = (await client.list_metadata(resource)).items
            except (KindNotServedError, NotFoundError):  # it went meanwhile
                return set()
        return {resource.key(one.metadata.namespace, one.metadata.name) for one in items}

    kinds = [one for kind, one in discovery.served.preferred.items() if "list" in one.verbs and kind not in PASSING]
    found = set().union(*await asyncio.gather(*map(keys, kinds)))
    return {key for key in found if (key.group, key.kind, key.name) not in EVERYWHERE}


def is_namespace(key: ObjectKey) -> bool:
    return (key.group, key.kind) == NAMESPACES.group_kind
