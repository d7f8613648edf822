"""Drift of each built-in kind that real bundles contain, and of custom resources, with and without an account.

A field of ours that another client changed is put back by one write. A field that another client added stays, and costs
nothing. All kinds are changed at once: each of them has a resource of its own in the count.
"""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import Resource
from tests.integration.operator.counting import Calls, calls_during, settled
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.tenancy.accounts import EVERYTHING, create_account, grant_everywhere
from tests.manifests import Document, crd, ingress, manifest, service, workload
from tests.waiting import eventually

RBAC = "rbac.authorization.k8s.io"
RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
POD = {"containers": [{"name": "c", "image": "none"}]}
NOTE: Document = {"metadata": {"annotations": {"foreign": "yes"}}}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One object of the content. `changed`: a merge patch of a field of ours; `added`: one of a field that is not."""

    plural: str
    ours: Document
    changed: Document
    added: Document = field(default_factory=lambda: NOTE)

    @property
    def resource(self) -> Resource:
        gvk = GroupVersionKind.parse(self.ours["apiVersion"], self.ours["kind"])
        return Resource(gvk=gvk, plural=self.plural, namespaced="namespace" in self.ours["metadata"])

    @property
    def place(self) -> tuple[str, str]:
        metadata = self.ours["metadata"]
        return metadata.get("namespace", ""), metadata["name"]


def webhooks(url: str, **more: Any) -> list[Document]:
    """Webhooks of a group that does not exist."""
    rules = [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "resources": ["*"], "operations": ["CREATE"]}]
    given = {"admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore", "rules": rules}
    return [{"name": "a.example.com", "clientConfig": {"url": url}, **given, **more}]


def cases(tenant: Tenant) -> dict[str, Case]:
    space, mark = tenant.namespace, tenant.name
    group = f"{mark}.example.com"
    selector = {"matchLabels": {"app": "x"}}
    pods = {"metadata": {"labels": {"app": "x"}}, "spec": POD}
    defaults = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"v": {"type": "integer"}, "size": {"type": "integer", "default": 3}},
            }
        },
    }
    subjects = [{"kind": "ServiceAccount", "name": "x", "namespace": space}]
    others = [{"kind": "ServiceAccount", "name": "y", "namespace": space}]

    def made(api: str, kind: str, *, cluster: bool = False, **fields: Any) -> Document:
        name = f"x-{mark}" if cluster else "x"
        return manifest(api, kind, name, "" if cluster else space, labels={"team": "ours"}, **fields)

    label: Document = {"metadata": {"labels": {"team": "theirs"}}}
    role_ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": f"x-{mark}"}
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    metrics = [{"type": "Resource", "resource": cpu}]
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}
    default_thing = crd(group, schema=defaults, names={"categories": ["ours"]})
    open_thing = crd(group, kind="Open")
    found = [
        Case(
            plural="deployments",
            ours=workload("x", space),
            changed={"spec": {"replicas": 3}},
            added={"spec": {"template": {"metadata": {"annotations": {"restartedAt": "now"}}}}},
        ),
        Case(
            plural="statefulsets",
            ours=made("apps/v1", "StatefulSet", spec={"replicas": 0, "selector": selector, "template": pods}),
            changed={"spec": {"replicas": 2}},
            added={"spec": {"minReadySeconds": 5}},
        ),
        Case(
            plural="daemonsets",
            ours=made("apps/v1", "DaemonSet", spec={"selector": selector, "template": pods}),
            changed={
                "spec": {
                    "template": {
                        "metadata": {"labels": {"app": "x"}},
                        "spec": {"containers": [{"name": "c", "image": "other"}]},
                    }
                }
            },
            added={"spec": {"minReadySeconds": 5}},
        ),
        Case(
            plural="services",
            ours=service("x", space),
            changed={"spec": {"selector": {"app": "other"}}},
            added={"spec": {"sessionAffinity": "ClientIP"}},
        ),
        Case(
            plural="configmaps",
            ours=made("v1", "ConfigMap", data={"key": "1"}),
            changed={"data": {"key": "2"}},
            added={"data": {"more": "2"}},
        ),
        Case(
            plural="secrets",
            ours=made("v1", "Secret", stringData={"key": "1"}),
            changed={"data": {"key": base64.b64encode(b"2").decode()}},
            added={"data": {"more": base64.b64encode(b"2").decode()}},
        ),
        Case(
            plural="serviceaccounts",
            ours=made("v1", "ServiceAccount", automountServiceAccountToken=False),
            changed={"automountServiceAccountToken": True},
            added={"secrets": [{"name": "more"}]},
        ),
        Case(plural="roles", ours=made(f"{RBAC}/v1", "Role", rules=[RULE]), changed={"rules": []}),
        Case(
            plural="rolebindings",
            ours=made(f"{RBAC}/v1", "RoleBinding", roleRef=role_ref, subjects=subjects),
            changed={"subjects": others},
        ),
        Case(
            plural="clusterroles",
            ours=made(f"{RBAC}/v1", "ClusterRole", cluster=True, rules=[RULE]),
            changed={"rules": []},
        ),
        Case(
            plural="clusterrolebindings",
            ours=made(f"{RBAC}/v1", "ClusterRoleBinding", cluster=True, roleRef=role_ref, subjects=subjects),
            changed={"subjects": others},
        ),
        Case(
            plural="customresourcedefinitions",
            ours=default_thing,
            changed={"spec": {"names": {"categories": ["theirs"]}}},
        ),
        Case(
            plural="things",
            ours=made(f"{group}/v1", "Thing", spec={"v": 1}),
            changed={"spec": {"v": 2}},
            added={"spec": {"size": 4}},
        ),
        Case(
            plural="opens",
            ours=made(f"{group}/v1", "Open", spec={"v": 1, "deep": {"unknown": [1, 2]}}),
            changed={"spec": {"deep": {"unknown": [3]}}},
            added={"spec": {"deep": {"more": True}}},
        ),
        Case(
            plural="poddisruptionbudgets",
            ours=made("policy/v1", "PodDisruptionBudget", spec={"minAvailable": 1, "selector": selector}),
            changed={"spec": {"minAvailable": 2}},
            added={"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}},
        ),
        Case(
            plural="networkpolicies",
            ours=made(
                "networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": selector, "policyTypes": ["Ingress"]}
            ),
            changed={"spec": {"podSelector": {"matchLabels": {"app": "other"}}}},
            added={"spec": {"ingress": [{}]}},
        ),
        Case(
            plural="priorityclasses",
            ours=made("scheduling.k8s.io/v1", "PriorityClass", cluster=True, value=7, description="ours"),
            changed={"description": "theirs"},
        ),
        Case(
            plural="ingresses",
            ours=ingress("x", space),
            changed={"spec": {"rules": [{"host": "theirs.example.com"}]}},
            added={"spec": {"ingressClassName": "theirs"}},
        ),
        Case(
            plural="persistentvolumeclaims",
            ours=made(
                "v1",
                "PersistentVolumeClaim",
                spec={
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "none",
                    "resources": {"requests": {"storage": "1Mi"}},
                },
            ),
            changed=label,
        ),
        Case(
            plural="jobs",
            ours=made(
                "batch/v1",
                "Job",
                spec={"suspend": True, "template": {"spec": {**POD, "restartPolicy": "Never"}}},
            ),
            changed={"spec": {"suspend": False}},
            added={"spec": {"ttlSecondsAfterFinished": 3600}},
        ),
        Case(
            plural="validatingwebhookconfigurations",
            ours=made(
                "admissionregistration.k8s.io/v1",
                "ValidatingWebhookConfiguration",
                cluster=True,
                webhooks=webhooks("https://ours.example.com"),
            ),
            changed={"webhooks": webhooks("https://theirs.example.com")},
        ),
        Case(
            plural="mutatingwebhookconfigurations",
            ours=made(
                "admissionregistration.k8s.io/v1",
                "MutatingWebhookConfiguration",
                cluster=True,
                webhooks=webhooks("https://ours.example.com"),
            ),
            changed={"webhooks": webhooks("https://theirs.example.com")},
        ),
        Case(
            plural="horizontalpodautoscalers",
            ours=made(
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                spec={
                    "minReplicas": 1,
                    "maxReplicas": 3,
                    "scaleTargetRef": scaled,
                    "metrics": metrics,
                },
            ),
            changed={"spec": {"maxReplicas": 5}},
            added={"spec": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}}},
        ),
    ]
    return {"opens CRD": Case(plural="customresourcedefinitions", ours=open_thing, changed=NOTE)} | {
        case.plural: case for case in found
    }


@pytest.fixture(params=["own rights", "account"])
async def spec(request: pytest.FixtureRequest, tenant: Tenant) -> AsyncIterator[Document]:
    if request.param == "own rights":
        yield {"installNamespace": tenant.namespace}
        return
    account = await create_account(tenant.admin, tenant.namespace, rules=())
    await grant_everywhere(tenant.admin, account, (EVERYTHING,))
    yield {"installNamespace": tenant.namespace, "serviceAccountName": account.name}


async def test_each_kind_is_corrected_by_one_write_and_left_where_it_is_not_ours(
    tenant: Tenant, operator: Operator, spec: Document
) -> None:
    content = cases(tenant)
    matrix = {plural: case for plural, case in content.items() if plural != "opens CRD"}
    await tenant.publish("v1", [case.ours for case in content.values()])
    await tenant.deploy("v1", **spec)
    await tenant.until(is_installed, what="everything is applied")
    await settled(operator)
    shipped = {plural: await written(tenant, case) for plural, case in matrix.items()}

    async def change() -> None:
        for case in matrix.values():
            await patch(tenant, case, case.changed)
        await eventually(is_as_shipped, what="all of them are put back")

    async def is_as_shipped() -> bool:
        return {plural: await written(tenant, case) for plural, case in matrix.items()} == shipped

    corrected = writes(await calls_during(operator, change))
    assert corrected == {("apply", plural, "200"): 1 for plural in matrix}

    async def add() -> None:
        for case in matrix.values():
            await patch(tenant, case, case.added)

    assert writes(await calls_during(operator, add)) == {}
    for plural, case in matrix.items():
        assert contains(await read(tenant, case), case.added), f"the foreign field of {plural} is gone"
        assert contains(await read(tenant, case), without_strings(case.ours)), f"{plural} is not ours any more"


def writes(calls: Calls) -> dict[tuple[str, str, str], int]:
    return {
        call: count
        for call, count in calls.items()
        if call[0] not in {"get", "list", "watch"} and call[1] != "bundledeployments/status"
    }


def is_installed(deployment: Document) -> bool:
    return bool(condition(deployment, "Installed").get("status") == "True")


async def patch(tenant: Tenant, case: Case, body: Document) -> None:
    namespace, name = case.place
    await tenant.admin.patch(case.resource, namespace, name, orjson.dumps(body), field_manager="another")


async def read(tenant: Tenant, case: Case) -> Document:
    return await tenant.read(case.resource, *case.place)


async def written(tenant: Tenant, case: Case) -> Document:
    """The object without what the server and controllers write."""
    try:
        live = await read(tenant, case)
    except NotFoundError:
        return {}
    for name in ("managedFields", "resourceVersion", "generation"):
        live["metadata"].pop(name, None)
    live.pop("status", None)
    live["metadata"].get("annotations", {}).pop("deployment.kubernetes.io/revision", None)
    live["metadata"].get("annotations", {}).pop("deprecated.daemonset.template.generation", None)
    return live


def contains(live: Any, part: Any) -> bool:
    if isinstance(part, dict):
        return isinstance(live, dict) and all(name in live and contains(live[name], one) for name, one in part.items())
    if isinstance(part, list):
        return isinstance(live, list) and len(live) >= len(part) and all(map(contains, live, part))
    return bool(live == part)


def without_strings(ours: Document) -> Document:
    """`stringData` is never read back."""
    return {name: value for name, value in ours.items() if name != "stringData"}
