"""Attempts of a tenant to get, by what is installed, at more than the account may: bundles, charts, values, options.

The account may do everything with ConfigMaps, Deployments, roles and bindings in its own namespace, and nothing else.
The operator has every right. Each attempt ends with a deployment that is not Ready and says why; what was not the
tenant's is as it was before; and the audit log shows no write of the operator but as the account, in its namespace, and
to its own kinds.
"""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.accounts import Account
from rukpak_py.api.names import (
    API_VERSION,
    APPLIED_ANNOTATION,
    BUNDLE_DEPLOYMENT_KIND,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
)
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, NAMESPACES, SECRETS
from tests import manifests
from tests.integration.listing import listed
from tests.integration.operator import charts, olm
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.tenancy.accounts import create_account, rule
from tests.integration.tenancy.auditing import Watcher
from tests.manifests import Document, crd, manifest
from tests.unit.bundles import webhook
from tests.unit.charts import config_map, hook, job_hook

RBAC = "rbac.authorization.k8s.io"
RULES = (
    rule("configmaps"),
    rule("deployments", group="apps"),
    rule("roles", "rolebindings", group=RBAC),
)
PODS = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
REFUSALS = re.compile(r"forbidden|cannot|may not|lacks|permission")
ADMINS = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}


@dataclass(kw_only=True)
class Ground:
    """A tenant with an account, and another namespace with objects that are not the tenant's."""

    tenant: Tenant
    account: Account
    other: str

    @property
    def myself(self) -> list[Document]:
        return [{"kind": "ServiceAccount", "name": self.account.name, "namespace": self.account.namespace}]

    async def plain(self, *documents: Document, **spec: Any) -> None:
        await self.tenant.publish("content", documents)
        await self.tenant.deploy("content", **self.identity, **spec)

    async def chart(self, text: str, *, crds: str = "", **spec: Any) -> None:
        items = await charts.publish(self.tenant, text, crds=crds)
        await charts.deploy(self.tenant, items, **self.identity, **spec)

    async def bundle(self, *, webhooks: Sequence[Document] = (), **spec: Any) -> None:
        package = f"p{self.tenant.name.removeprefix('t-')}"
        given = await olm.published(self.tenant, package, webhooks=webhooks)
        self.tenant.sees_to(self.tenant.name)
        await self.tenant.settled()
        body = manifest(API_VERSION, BUNDLE_DEPLOYMENT_KIND, self.tenant.name, spec={**given, **self.identity, **spec})
        await self.tenant.admin.create(BUNDLE_DEPLOYMENTS, "", orjson.dumps(body))

    @property
    def identity(self) -> Document:
        return {"installNamespace": self.tenant.namespace, "serviceAccountName": self.account.name}


@pytest.fixture
async def ground(admin: Client, tenant: Tenant) -> AsyncIterator[Ground]:
    other = f"other-{tenant.name}"
    await admin.create(NAMESPACES, "", orjson.dumps(manifest("v1", "Namespace", other)))
    await admin.create(CONFIG_MAPS, other, orjson.dumps(manifests.config_map("theirs", other, key="theirs")))
    for namespace in (other, tenant.namespace):
        secret = manifest("v1", "Secret", "hidden", namespace, stringData={"key": "hidden"})
        await admin.create(SECRETS, namespace, orjson.dumps(secret))
    account = await create_account(admin, tenant.namespace, rules=RULES)
    yield Ground(tenant=tenant, account=account, other=other)
    await admin.delete(NAMESPACES, "", other)


Attempt = Callable[[Ground], Any]


def cluster(kind: str, api: str = f"{RBAC}/v1", **fields: Any) -> Attempt:
    """Install an object without a namespace."""
    return lambda ground: ground.plain(manifest(api, kind, f"x-{ground.tenant.name}", **fields))


def looks_up(*words: str) -> Attempt:
    """A chart whose ConfigMap has what `lookup` finds."""
    text = " ".join(words)
    return lambda ground: ground.chart(config_map("found", f"(toJson (lookup {text.replace('OTHER', ground.other)}))"))


async def forges_marks(ground: Ground) -> None:
    """A ConfigMap of another namespace has all marks of our own that a client can write, so it would be pruned."""
    await ground.plain(manifests.config_map("a", ground.tenant.namespace))
    live = await ground.tenant.until(lambda one: bool(one.get("status", {}).get("history")), what="it is installed")
    marks = {
        "labels": {OWNER_KIND_LABEL: BUNDLE_DEPLOYMENT_KIND, OWNER_NAME_LABEL: ground.tenant.name},
        "annotations": {APPLIED_ANNOTATION: "v2:0:sha256:0"},
        "ownerReferences": [
            {
                "apiVersion": API_VERSION,
                "kind": BUNDLE_DEPLOYMENT_KIND,
                "name": ground.tenant.name,
                "uid": live["metadata"]["uid"],
                "controller": True,
            }
        ],
    }
    body = {**manifests.config_map("marked", ground.other), "metadata": {"name": "marked", **marks}}
    manager = f"rukpak/{ground.tenant.name}"
    await ground.tenant.admin.apply(
        CONFIG_MAPS, ground.other, "marked", orjson.dumps(body), field_manager=manager, force=True
    )
    await ground.tenant.publish("next", [manifests.config_map("x", ground.other)])
    await ground.tenant.deploy("next", **ground.identity)


ATTEMPTS: dict[str, Attempt] = {
    "object_in_another_namespace": lambda ground: ground.plain(manifests.config_map("x", ground.other)),
    "object_of_another_namespace_taken_over": lambda ground: ground.plain(
        manifests.config_map("theirs", ground.other, key="mine"), adopt="Force"
    ),
    "object_of_another_namespace_replaced_by_force": lambda ground: ground.plain(
        manifests.config_map("theirs", ground.other, key="mine"),
        adopt="Force",
        overrides=[{"kind": "ConfigMap", "namespace": ground.other, "name": "theirs", "force": True}],
    ),
    "object_of_another_namespace_with_forged_marks_pruned": forges_marks,
    "namespace": cluster("Namespace", "v1"),
    "cluster_role": cluster("ClusterRole", rules=PODS),
    "cluster_role_binding": cluster("ClusterRoleBinding", roleRef=ADMINS, subjects=[]),
    "custom_resource_definition": lambda ground: ground.plain(crd(f"{ground.tenant.name}.example.com")),
    "webhook_configuration": cluster("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1", webhooks=[]),
    "admission_policy": cluster(
        "ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io/v1",
        spec={
            "matchConstraints": {"resourceRules": []},
            "validations": [{"expression": "true"}],
        },
    ),
    "priority_class": cluster("PriorityClass", "scheduling.k8s.io/v1", value=1_000_000),
    "binding_of_itself_to_cluster_admin": lambda ground: ground.plain(
        manifest(f"{RBAC}/v1", "RoleBinding", "x", ground.tenant.namespace, roleRef=ADMINS, subjects=ground.myself)
    ),
    "role_with_rights_that_the_account_lacks": lambda ground: ground.plain(
        manifest(
            f"{RBAC}/v1",
            "Role",
            "x",
            ground.tenant.namespace,
            rules=[{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
        )
    ),
    "bundle_deployment_that_names_no_account": lambda ground: ground.plain(
        manifests.deployment(f"inner-{ground.tenant.name}", manifests.source("content"))
    ),
    "secret": lambda ground: ground.plain(manifest("v1", "Secret", "x", ground.tenant.namespace)),
    "token_secret_of_another_account": lambda ground: ground.plain(
        manifest(
            "v1",
            "Secret",
            "x",
            ground.other,
            annotations={"kubernetes.io/service-account.name": "default"},
            type="kubernetes.io/service-account-token",
        )
    ),
    "workload_in_the_system_namespace": lambda ground: ground.plain(manifests.workload("x", ground.tenant.system)),
    "secret_of_the_system_namespace": lambda ground: ground.plain(manifest("v1", "Secret", "x", ground.tenant.system)),
    "hook_in_another_namespace": lambda ground: ground.chart(
        hook("x", "pre-install").replace("{name: x,", f"{{name: x, namespace: {ground.other},")
    ),
    "job_as_hook": lambda ground: ground.chart(job_hook("x", "pre-install")),
    "crds_folder_with_an_object_of_another_namespace": lambda ground: ground.chart(
        config_map("a"),
        crds=f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x, namespace: {ground.other}}}\n",
    ),
    "crds_folder_with_a_definition": lambda ground: ground.chart(
        config_map("a"), crds=orjson.dumps(crd(f"{ground.tenant.name}.example.com")).decode()
    ),
    "lookup_of_a_secret_of_its_namespace": looks_up('"v1" "Secret" .Release.Namespace "hidden"'),
    "lookup_of_secrets_of_another_namespace": looks_up('"v1" "Secret" "OTHER" ""'),
    "lookup_of_an_object_of_another_namespace": looks_up('"v1" "ConfigMap" "OTHER" "theirs"'),
    "lookup_of_nodes": looks_up('"v1" "Node" "" ""'),
    "values_of_a_secret_that_the_account_may_not_read": lambda ground: ground.chart(
        config_map("a", ".Values.key"), config={"valuesFrom": [{"kind": "Secret", "name": "hidden", "key": "key"}]}
    ),
    "bundle_with_a_definition": lambda ground: ground.bundle(),
    "bundle_with_webhooks": lambda ground: ground.bundle(webhooks=[webhook("v.example.com")]),
    "bundle_that_watches_another_namespace": lambda ground: ground.bundle(watchNamespaces=[ground.other]),
    "bundle_that_watches_all_namespaces": lambda ground: ground.bundle(watchNamespaces=[""]),
}


@pytest.mark.parametrize("name", ATTEMPTS)
async def test_content_gets_no_more_than_the_account(
    plane: ControlPlane, ground: Ground, guarded_operator: Operator, name: str
) -> None:
    assert guarded_operator.is_running
    tenant, watcher = ground.tenant, Watcher(plane=plane, system=ground.tenant.system, account=ground.account)
    theirs = await contents(tenant.admin, ground.other)
    watcher.requests()
    await ATTEMPTS[name](ground)
    await tenant.until(is_refused, what="it is refused")
    assert await contents(tenant.admin, ground.other) == theirs
    assert watcher.written_outside(tenant.namespace) == []
    assert "hidden" not in str(await tenant.owned(CONFIG_MAPS))


def is_refused(deployment: Document) -> object:
    ready = condition(deployment, "Ready")
    is_current = ready.get("observedGeneration") == deployment["metadata"]["generation"]
    return is_current and ready["status"] == "False" and REFUSALS.search(ready["message"])


async def contents(admin: Client, namespace: str) -> Document:
    """ConfigMaps and Secrets of a namespace, but what an attempt itself has put there and what controllers make."""
    found = [
        (resource.gvk.kind, one["metadata"]["name"], one)
        for resource in (CONFIG_MAPS, SECRETS)
        for one in await listed(admin, resource, namespace)
    ]
    return {f"{kind} {name}": one for kind, name, one in found if name not in {"marked", "kube-root-ca.crt"}}
