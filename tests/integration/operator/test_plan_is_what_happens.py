"""Plans of upgrades against what happens: the writes of the audit log, and the fields that are others afterwards.

Each pair of contents is installed and upgraded as an account, whose requests the audit log tells from all others.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from e2e.cluster.audit import audited
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.accounts import Account
from rukpak_py.apply.planned_fields import changed_fields
from rukpak_py.apply.upgrade_document import ObjectName, PlannedField, UpgradeDocument
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.operator.planning import plan_for
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.upgrading import MANUAL, annotate, pending, waits
from tests.integration.tenancy.accounts import EVERYTHING, create_account, grant_everywhere, revoke_everywhere
from tests.manifests import Document, config_map, crd, manifest, service, service_account, thing, workload
from tests.waiting import eventually, quiet

WRITTEN = {"created", "changed", "taken", "pruned", "replaced"}  # of what is kept only marks may go
OF_CONTROLLERS = 'metadata.annotations["deployment.kubernetes.io/revision"]'  # another client writes it, in answer
Contents = Callable[[Tenant], Iterable[Document]]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """`actions`: what the plan has to name, so that a pair shows what it is for. `there`: objects without an owner."""

    id: str
    old: Contents
    new: Contents
    actions: frozenset[str]
    there: Contents = lambda _: ()
    spec: Document = field(default_factory=dict)


def changed(document: Document, *path: str | int, to: Any = None) -> Document:
    """A copy with another value at the path; None: without it."""
    copy: Document = orjson.loads(orjson.dumps(document))
    place: Any = copy
    for step in path[:-1]:
        place = place[step]
    if to is None:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return copy


def secret(tenant: Tenant, **data: str) -> Document:
    return manifest("v1", "Secret", "s", tenant.namespace, stringData=data)


def web(tenant: Tenant) -> Document:
    found = workload("web", tenant.namespace, env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}])
    found["spec"]["replicas"] = 3
    found["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "side:1"})
    return found


def upgraded_web(tenant: Tenant) -> Document:
    """Another image and variable, a container and the replicas gone: the server goes back to its default."""
    pod: tuple[str | int, ...] = ("spec", "template", "spec", "containers")
    found = changed(changed(web(tenant), *pod, 1), "spec", "replicas")
    found = changed(found, *pod, 0, "image", to="web:2")
    return changed(found, *pod, 0, "env", to=[{"name": "B", "value": "3"}, {"name": "C", "value": "1"}])


def role(tenant: Tenant, *verbs: str) -> Document:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": list(verbs)}]
    return manifest("rbac.authorization.k8s.io/v1", "Role", "r", tenant.namespace, rules=rules)


def binding(tenant: Tenant) -> Document:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    subjects = [{"kind": "ServiceAccount", "name": "web", "namespace": tenant.namespace}]
    return manifest(
        "rbac.authorization.k8s.io/v1", "RoleBinding", "b", tenant.namespace, roleRef=reference, subjects=subjects
    )


def forced(tenant: Tenant, label: str) -> Document:
    found = workload("web", tenant.namespace, app=label)
    return changed(found, "metadata", "annotations", to={"core.rukpak.io/force": "true"})


def kept(tenant: Tenant) -> Document:
    return config_map("kept", tenant.namespace, annotations={"core.rukpak.io/prune": "false"}, v="1")


def group(tenant: Tenant) -> str:
    return f"{tenant.name}.example.com"


PAIRS = (
    Pair(
        id="config",
        old=lambda one: [config_map("a", one.namespace, x="1", y="1"), config_map("gone", one.namespace)],
        new=lambda one: [
            config_map("a", one.namespace, labels={"l": "1"}, annotations={"n": "1"}, x="2", z="1"),
            config_map("new", one.namespace),
        ],
        actions=frozenset({"changed", "created", "pruned"}),
    ),
    Pair(
        id="secrets",
        old=lambda one: [secret(one, password="one", same="1")],
        new=lambda one: [secret(one, password="two", same="1", more="3")],
        actions=frozenset({"changed"}),
    ),
    Pair(
        id="workloads",
        old=lambda one: [web(one)],
        new=lambda one: [upgraded_web(one)],
        actions=frozenset({"changed"}),
    ),
    Pair(
        id="services",
        old=lambda one: [service("web", one.namespace, sessionAffinity="ClientIP")],
        new=lambda one: [
            service("web", one.namespace, ports=[{"name": "a", "port": 80}, {"name": "b", "port": 81}]),
        ],
        actions=frozenset({"changed"}),
    ),
    Pair(
        id="rights",
        old=lambda one: [service_account("web", one.namespace), role(one, "get")],
        new=lambda one: [service_account("web", one.namespace), role(one, "get", "list"), binding(one)],
        actions=frozenset({"changed", "created"}),
    ),
    Pair(
        id="replaced",
        old=lambda one: [forced(one, "one")],
        new=lambda one: [forced(one, "two")],
        actions=frozenset({"replaced"}),
    ),
    Pair(
        id="taken over",
        there=lambda one: [config_map("theirs", one.namespace, v="theirs", more="stays")],
        old=lambda one: [config_map("a", one.namespace)],
        new=lambda one: [config_map("a", one.namespace), config_map("theirs", one.namespace, v="ours")],
        actions=frozenset({"taken"}),
        spec={"adopt": "IfUnowned"},
    ),
    Pair(
        id="kept",
        old=lambda one: [config_map("a", one.namespace, v="1"), kept(one)],
        new=lambda one: [config_map("a", one.namespace, v="2")],
        actions=frozenset({"changed", "kept"}),
    ),
    Pair(
        id="ignored",
        old=lambda one: [config_map("a", one.namespace, v="1", theirs="1")],
        new=lambda one: [config_map("a", one.namespace, v="2", theirs="2")],
        actions=frozenset({"changed"}),
        spec={"overrides": [{"kind": "ConfigMap", "name": "a", "ignore": ["/data/theirs"]}]},
    ),
    Pair(
        id="definitions",
        old=lambda one: [crd(group(one))],
        new=lambda one: [
            changed(crd(group(one)), "spec", "names", "shortNames", to=["tng"]),
            thing(group(one), "first", one.namespace),
        ],
        actions=frozenset({"changed", "created"}),
    ),
)


@pytest.fixture
async def account(tenant: Tenant) -> AsyncIterator[Account]:
    found = await create_account(tenant.admin, tenant.namespace, rules=(EVERYTHING,))
    await grant_everywhere(tenant.admin, found, (EVERYTHING,))
    yield found
    await revoke_everywhere(tenant.admin, found)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda one: one.id)
async def test_objects_and_fields_of_the_plan_are_those_that_change(
    tenant: Tenant, operator: Operator, plane: ControlPlane, account: Account, pair: Pair
) -> None:
    spec = {"installNamespace": tenant.namespace, "serviceAccountName": account.name, "upgrades": MANUAL, **pair.spec}
    spec |= {"prune": {"when": "AfterApply"}}  # no pod runs here, so no workload is ever healthy
    for one in pair.there(tenant):
        await tenant.admin.create(CONFIG_MAPS, tenant.namespace, orjson.dumps(one))
    await tenant.publish("one", pair.old(tenant))
    await tenant.publish("two", pair.new(tenant))
    await tenant.deploy("one", **spec)
    await tenant.until(lambda found: condition(found, "Installed").get("status") == "True", what="it is installed")
    await tenant.deploy("two", **spec)
    digest = pending(await waits(tenant))["digest"]
    plan = await plan_for(tenant, plane, operator)
    assert plan.digest == digest
    assert {one.action for one in plan.objects} == pair.actions
    before, start = await contents(tenant.admin, plan), len(audited(plane.state))
    await annotate(tenant, digest)

    def written() -> set[tuple[str, str]]:
        return writes(plane, account, start)

    async def is_over() -> bool:
        status = (await tenant.deployment())["status"]
        is_there = {named(one.object) for one in plan.objects if one.action in WRITTEN} <= written()
        return not status.get("pendingUpgrade") and is_there

    await eventually(is_over, what="all that the plan names is written")

    async def now() -> set[tuple[str, str]]:
        return written()

    found = await quiet(now, seconds=2.0)
    assert found <= {named(one.object) for one in plan.objects}
    after = await contents(tenant.admin, plan)
    for planned in plan.objects:
        key = named(planned.object)
        match planned.action:
            case "created":
                assert key in after
            case "pruned":
                assert key not in after
            case "changed" | "taken":
                assert told(planned.fields) == told(differences(before[key], after[key])), key
            case "replaced":
                assert orjson.loads(before[key])["metadata"]["uid"] != orjson.loads(after[key])["metadata"]["uid"]


def named(name: ObjectName) -> tuple[str, str]:
    return f"{name.kind}.{name.group}".lower(), f"{name.namespace}/{name.name}"


def told(fields: Iterable[PlannedField]) -> set[tuple[str, str, str | None, str | None]]:
    """Fields as they are compared; of values of Secrets only their places: each report has a key of its own."""
    return {(one.path, one.change, *((None, None) if one.secret else (one.old, one.new))) for one in fields}


def differences(before: bytes, after: bytes) -> Iterable[PlannedField]:
    found = changed_fields(
        before, after, hide=lambda text: text, digest=lambda value: hashlib.sha256(value).hexdigest()
    )
    return [one for one in found.fields if one.path != OF_CONTROLLERS]


async def contents(admin: Client, plan: UpgradeDocument) -> dict[tuple[str, str], bytes]:
    discovery = Discovery(admin)
    await discovery.refresh()
    found = {}
    for one in plan.objects:
        key = ObjectKey(one.object.group, one.object.kind, one.object.namespace, one.object.name)
        resource = discovery.preferred(key.group, key.kind)
        if resource is not None:
            try:
                found[named(one.object)] = await admin.get(resource, key.namespace, key.name)
            except NotFoundError:
                continue
    return found


def writes(plane: ControlPlane, account: Account, start: int) -> set[tuple[str, str]]:
    """Objects that the account has written, by their kind as the name of their resource has it."""
    return {
        (f"{one.resource.removesuffix('s')}.{one.group}", f"{one.namespace}/{one.name}")
        for one in audited(plane.state, skip=start)
        if one.account == account.user and one.is_write and not one.is_dry_run and one.code < 400
    }
