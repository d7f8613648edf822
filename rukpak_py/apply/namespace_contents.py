"""What others have in a Namespace: a deletion of the Namespace would delete it, and asks its owner first.

Of the kinds that count, only what is there now and is not of the deployment: Pods, claims, Services, Secrets and
ConfigMaps, without the ConfigMap that Kubernetes itself puts into each namespace.
"""

from rukpak_py.api.names import OWNER_UID_ANNOTATION
from rukpak_py.apply.instances import NAMED, instances_of
from rukpak_py.apply.prune_policy import ForeignInstances, UnlistedInstances
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError, NotFoundError
from rukpak_py.kube.metadata import LiveObject, Metadata
from rukpak_py.kube.resources import CLAIMS, CONFIG_MAPS, PODS, SECRETS, SERVICES, Resource

COUNTING = (PODS, CLAIMS, SERVICES, SECRETS, CONFIG_MAPS)
ROOT_CA = "kube-root-ca.crt"


async def foreign_contents(client: Client, namespace: str, owner_uid: str) -> list[ForeignInstances]:
    """For each kind of which there are any, or which could not be listed."""
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
