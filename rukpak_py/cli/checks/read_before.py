"""Facts about a cluster into which the operator shall be installed."""

from collections.abc import Mapping

from rukpak_py.api.names import OPERATOR_LEASE, OPERATOR_PART, PART_OF_LABEL
from rukpak_py.api.policies.document import Document
from rukpak_py.api.policies.installation import Installation
from rukpak_py.apply.permissions.installer import needs_of, rules_by_scope
from rukpak_py.apply.permissions.permission import reduced
from rukpak_py.apply.permissions.review import missing_permissions
from rukpak_py.cli.checks.before import claimed_by
from rukpak_py.cli.checks.facts import BeforeFacts, ServerFacts
from rukpak_py.cli.checks.reader import Reader, unread
from rukpak_py.cli.checks.results import Json, Seen, Unread
from rukpak_py.cli.checks.shipped import shipped_objects
from rukpak_py.core.objects import GroupVersionKind, ObjectKey, canonical_json
from rukpak_py.kube.admission_policies import policy_resource
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import AlreadyExistsError, ApiError, ForbiddenError, KindNotServedError
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import CRDS, DEPLOYMENTS, LEASES, Resource

OPERATORS = f"{PART_OF_LABEL}={OPERATOR_PART}"


async def read_before(
    reader: Reader, discovery: Discovery, server: ServerFacts, installation: Installation
) -> BeforeFacts:
    objects = shipped_objects(installation)
    crds = {CRDS.key("", name): await reader.read(CRDS, "", name) for name in _names(objects, CRDS)}
    claimed = claimed_by(crds)
    lease: Seen = await reader.read(LEASES, claimed, OPERATOR_LEASE) if claimed else None
    return BeforeFacts(
        server=server,
        installation=installation,
        missing=await _missing(reader, objects, installation.system_namespace),
        accepted=await _accepted(reader, installation.policies()),
        existing=await _existing(reader, discovery, objects),
        crds=crds,
        operators=await reader.listed(DEPLOYMENTS, labels=OPERATORS),
        lease=lease,
    )


def _names(objects: list[Json], resource: Resource) -> list[str]:
    return [one["metadata"]["name"] for one in objects if one["kind"] == resource.gvk.kind]


async def _missing(reader: Reader, objects: list[Json], namespace: str) -> dict[str, list[Json]] | Unread:
    """Helm keeps its release in a Secret. Deletion and pods are not for the installation."""
    release: Json = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "sh.helm.release.v1.rukpak.v1", "namespace": namespace},
    }
    needs = needs_of([*objects, release], install_namespace=namespace)
    installing = frozenset(one for one in needs.permissions if one.verb in {"create", "get", "patch"})
    try:
        missing = await missing_permissions(
            reader.client, type(needs)(permissions=installing, grants=needs.grants), namespace=namespace
        )
    except ApiError as error:
        return unread(error)
    return rules_by_scope(reduced(missing))


async def _accepted(reader: Reader, policies: list[Document]) -> Mapping[ObjectKey, str | Unread]:
    found: dict[ObjectKey, str | Unread] = {}
    for one in policies:
        resource, name = policy_resource(one), one["metadata"]["name"]
        try:
            await reader.client.create(resource, "", canonical_json(one), dry_run=True)
        except AlreadyExistsError:
            continue
        except (ForbiddenError, KindNotServedError) as error:  # the latter is a finding about the server
            found[resource.key("", name)] = unread(error)
        except ApiError as error:
            found[resource.key("", name)] = unread(error) if error.status >= 500 else error.message
    return found


async def _existing(
    reader: Reader, discovery: Discovery, objects: list[Json]
) -> Mapping[ObjectKey, Metadata | Unread | None]:
    """All but the namespace, which may be there for good reasons, and CRDs, of which more is read."""
    found: dict[ObjectKey, Metadata | Unread | None] = {}
    for one in objects:
        resource = discovery.find(GroupVersionKind.parse(one["apiVersion"], one["kind"]))
        if resource is None or one["kind"] in {"Namespace", CRDS.gvk.kind}:
            continue
        namespace, name = one["metadata"].get("namespace", ""), one["metadata"]["name"]
        found[resource.key(namespace, name)] = await reader.metadata(resource, namespace, name)
    return found
