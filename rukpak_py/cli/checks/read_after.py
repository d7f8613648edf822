"""Facts about an installed operator."""

from collections.abc import Iterable, Mapping, Sequence

import orjson

from rukpak_py.api.accounts import Account, Mode
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.crds import crds
from rukpak_py.api.names import (
    OPERATOR_LEASE,
    WATCH_ROLE_LABEL,
    WEBHOOK_CONFIGURATION,
    WEBHOOK_SERVICE,
    SecretName,
)
from rukpak_py.api.policies.installation import Installation, probes
from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.apply.permissions.permission import ALL, Permission
from rukpak_py.certificates.own_certificate import WEBHOOK_CONFIGURATIONS
from rukpak_py.cli.checks.deployments import account_of, default_account
from rukpak_py.cli.checks.facts import AfterFacts, ServerFacts, WatchedKind, WebhookFacts
from rukpak_py.cli.checks.flags import OperatorFlags, flags_of
from rukpak_py.cli.checks.held import held_rights
from rukpak_py.cli.checks.reader import Reader, unread
from rukpak_py.cli.checks.results import Answer, Json, Seen, Unread
from rukpak_py.cli.checks.shipped import operator_account, operator_permissions
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.kube.admission_policies import policy_key, probe_problem, probed_resource, stored_policy
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import (
    BUNDLE_DEPLOYMENTS,
    CLUSTER_ROLES,
    CRDS,
    ENDPOINT_SLICES,
    LEASES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
)

EVERYTHING = Permission("", ALL, ALL, ALL)
SLICES_OF = "kubernetes.io/service-name"


async def read_after(
    reader: Reader, discovery: Discovery, server: ServerFacts, namespace: str, deployment: Seen
) -> AfterFacts:
    flags = flags_of(deployment) if isinstance(deployment, dict) else OperatorFlags(unknown=("--mode",))
    installation = Installation(
        system_namespace=namespace, mode=flags.known_mode or Mode.CLASSIC, default_account=flags.default_account
    )
    unknown = None if flags.known_mode and not flags.unknown else _unknown(deployment)
    of_operator = _OperatorRights(reader, operator_account(namespace))
    everything = unknown or await of_operator.has(EVERYTHING)
    deployments = await _deployments(reader)
    listed = [] if isinstance(deployments, Unread) else deployments
    accounts = {account for one in listed if (account := account_of(one, installation)) is not None}
    default = default_account(installation)
    policies = await _policies(reader, installation, unknown)
    return AfterFacts(
        server=server,
        installation=installation,
        deployment=deployment,
        crds={CRDS.key("", name): await reader.read(CRDS, "", name) for name in _crd_names()},
        lease=await reader.read(LEASES, namespace, OPERATOR_LEASE),
        policies=policies,
        probes=await _probes(reader, installation) if not any(policies.values()) else {},
        rights=await _rights(of_operator, installation, everything),
        may_do_everything=everything,
        watch_roles=await _watch_roles(reader),
        webhook=await _webhook(reader, namespace),
        bundle_deployments=deployments,
        accounts={
            one: await _exists(reader, one) for one in sorted(accounts | ({default} if default is not None else set()))
        },
        impersonated={one: everything is True or await of_operator.has(_acting_as(one)) for one in sorted(accounts)}
        if installation.mode is Mode.NARROW
        else {},
        watched=await _watched(of_operator, discovery, deployments, everything)
        if installation.mode is Mode.NARROW
        else {},
    )


def _unknown(deployment: Seen) -> Unread:
    if isinstance(deployment, Unread):
        return Unread(why=f"the mode of the operator is not known, because {deployment.why}")
    return Unread(why="the Deployment of the operator does not say its mode")


class _OperatorRights:
    """Rights of the operator: by access reviews, or by its roles where the caller may not ask for reviews."""

    def __init__(self, reader: Reader, account: Account) -> None:
        self._reader = reader
        self._account = account
        self._may_review: bool | None = None

    async def has(self, permission: Permission) -> Answer:
        return (await self.have([permission]))[permission]

    async def have(self, permissions: Iterable[Permission]) -> Mapping[Permission, Answer]:
        permissions = list(permissions)
        if self._may_review is None:
            review = Permission("", "create", "authorization.k8s.io", "subjectaccessreviews")
            self._may_review = await self._reader.may(review) is True
        if self._may_review:
            return await self._reader.may_account_all(self._account, permissions)
        return await held_rights(self._reader, self._account, permissions)


async def _rights(
    of_operator: _OperatorRights, installation: Installation, everything: Answer
) -> Mapping[Permission, Answer]:
    if everything is True or isinstance(everything, Unread):
        return {EVERYTHING: everything}
    return await of_operator.have(operator_permissions(installation))


async def _policies(
    reader: Reader, installation: Installation, unknown: Unread | None
) -> Mapping[ObjectKey, str | Unread]:
    found: dict[ObjectKey, str | Unread] = {}
    for one in installation.policies():
        try:
            stored = unknown or await stored_policy(reader.client, one)
        except ApiError as error:
            stored = unread(error)
        found[policy_key(one)] = stored if isinstance(stored, str | Unread) else ""
    return found


async def _probes(reader: Reader, installation: Installation) -> Mapping[str, str | Unread]:
    """Only with the right to create the kind: without it, RBAC refuses before the policies are asked."""
    found: dict[str, str | Unread] = {}
    for one in probes():
        resource = probed_resource(one)
        may = await reader.may(Permission("", "create", resource.gvk.group, resource.plural))
        if may is not True:
            why = may.why if isinstance(may, Unread) else f"a probe needs the right to create {resource.plural}"
            found[resource.plural] = Unread(why=why)
            continue
        try:
            found[resource.plural] = await probe_problem(reader.client, installation, one)
        except ApiError as error:
            found[resource.plural] = unread(error)
    return found


async def _watch_roles(reader: Reader) -> Sequence[Json] | Unread:
    found = await reader.every(CLUSTER_ROLES, labels=f"{WATCH_ROLE_LABEL}=true")
    return found if isinstance(found, Unread) else [orjson.loads(one) for one in found]


async def _webhook(reader: Reader, namespace: str) -> WebhookFacts:
    slices = await reader.every(ENDPOINT_SLICES, namespace, labels=f"{SLICES_OF}={WEBHOOK_SERVICE}")
    return WebhookFacts(
        configuration=await reader.read(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION),
        service=await reader.read(SERVICES, namespace, WEBHOOK_SERVICE),
        slices=slices if isinstance(slices, Unread) else [orjson.loads(one) for one in slices],
        authority=await reader.read(SECRETS, namespace, SecretName.CA),
        serving=await reader.read(SECRETS, namespace, SecretName.SERVING),
    )


async def _deployments(reader: Reader) -> Sequence[BundleDeployment] | Unread:
    found = await reader.every(BUNDLE_DEPLOYMENTS)
    if isinstance(found, Unread):
        return found
    try:
        return [read_bundle_deployment(one) for one in found]
    except ContentError as error:
        return Unread(why=str(error))


async def _exists(reader: Reader, account: Account) -> Answer:
    found = await reader.metadata(SERVICE_ACCOUNTS, account.namespace, account.name)
    return found if isinstance(found, Unread) else found is not None


def _acting_as(account: Account) -> Permission:
    return Permission(account.namespace, "impersonate", "", SERVICE_ACCOUNTS.plural, account.name)


async def _watched(
    of_operator: _OperatorRights,
    discovery: Discovery,
    deployments: Sequence[BundleDeployment] | Unread,
    everything: Answer,
) -> Mapping[tuple[str, WatchedKind], Answer] | Unread:
    if isinstance(deployments, Unread):
        return deployments
    found: dict[tuple[str, WatchedKind], Answer] = {}
    answers: dict[WatchedKind, Answer] = {}
    for deployment in deployments:
        for kind in _kinds_of(deployment, discovery):
            if kind not in answers:
                answers[kind] = everything is True or await _may_watch(of_operator, kind)
            found[deployment.metadata.name, kind] = answers[kind]
    return found


def _kinds_of(deployment: BundleDeployment, discovery: Discovery) -> Iterable[WatchedKind]:
    """A kind that is not served has no objects to watch."""
    for one in deployment.status.kinds:
        gvk = GroupVersionKind(one.group, one.version, one.kind)
        resource = discovery.find(gvk) or discovery.preferred(gvk.group, gvk.kind)
        if resource is not None:
            is_secret = resource.group_kind == SECRETS.group_kind
            for namespace in one.namespaces if is_secret else ("",):
                yield WatchedKind(resource=resource, namespace=namespace)


async def _may_watch(of_operator: _OperatorRights, kind: WatchedKind) -> Answer:
    asked = [
        Permission(kind.namespace, verb, kind.resource.gvk.group, kind.resource.plural) for verb in ("list", "watch")
    ]
    answers = list((await of_operator.have(asked)).values())
    return next((one for one in answers if one is not True), True)


def _crd_names() -> list[str]:
    return [one["metadata"]["name"] for one in crds().values()]
