"""The optional fields of a BundleDeployment, and what the API server fills in and keeps."""

import json
from typing import Any
from uuid import uuid4

import pytest

from rukpak_py.api.names import API_VERSION, GROUP, VERSION
from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import InvalidError
from rukpak_py.kube.resources import Resource

pytestmark = pytest.mark.usefixtures("kinds")

Document = dict[str, Any]

DEPLOYMENTS = Resource(
    gvk=GroupVersionKind(GROUP, VERSION, "BundleDeployment"), plural="bundledeployments", namespaced=False
)
NOBODYS_CLASS = "nobody-serves-this-class"
TEMPLATE = {"spec": {"provisionerClassName": NOBODYS_CLASS, "source": {"type": "upload", "upload": {}}}}
OVERRIDE = {"group": "apps", "kind": "Deployment", "namespace": "a", "name": "web", "force": True}

PATCH = {"target": {"group": "apps", "kind": "Deployment", "name": "web"}, "patch": "spec: {replicas: 2}"}


def selecting(expression: Document) -> Document:
    return {"kind": "Pod", "labelSelector": {"matchExpressions": [expression]}}


def body(name: str = "tried", **spec: Any) -> bytes:
    document = {
        "apiVersion": API_VERSION,
        "kind": "BundleDeployment",
        "metadata": {"name": name},
        "spec": {"provisionerClassName": NOBODYS_CLASS, "template": TEMPLATE} | spec,
    }
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    "spec",
    [
        {"installNamespace": "a" * 63, "createNamespace": True},
        {"createNamespace": False},
        {"suspend": True},
        {"prune": {}},
        {"prune": {"enabled": False, "maxObjects": 0, "when": "AfterApply"}},
        {"adopt": "IfUnowned"},
        {"adopt": "Force"},
        {"config": {}},
        {"overrides": []},
        {"overrides": [{"kind": "Namespace", "name": "shop", "prune": True}]},
        {"installNamespace": "n", "serviceAccountName": "a.b-c", "createNamespace": False},
        {"overrides": [OVERRIDE, {**OVERRIDE, "namespace": "b"}, {**OVERRIDE, "group": "", "kind": "Pod"}]},
        {"overrides": [{**OVERRIDE, "name": f"many-{number}"} for number in range(128)]},
        {"patches": [PATCH] * 32},
        {"patches": [{"target": {"kind": "Pod", "labelSelector": {}}, "patch": "x" * 4096}]},
        {"dependsOn": [{"name": f"other-{number}"} for number in range(16)]},
        {"wait": {}},
        {"wait": {"timeout": "1h30m"}},
    ],
)
async def test_good_options_pass(client: Client, spec: Document) -> None:
    await client.create(DEPLOYMENTS, "", body(**spec), dry_run=True)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"installNamespace": ""}, "spec.installNamespace"),
        ({"installNamespace": "a.b"}, "spec.installNamespace"),
        ({"installNamespace": "a" * 64}, "spec.installNamespace: Too long"),
        ({"createNamespace": True}, "spec.createNamespace needs spec.installNamespace"),
        ({"serviceAccountName": "a"}, "spec.serviceAccountName needs spec.installNamespace"),
        ({"installNamespace": "n", "serviceAccountName": ""}, "spec.serviceAccountName"),
        ({"installNamespace": "n", "serviceAccountName": "a:b"}, "spec.serviceAccountName"),
        ({"installNamespace": "n", "serviceAccountName": "a" * 254}, "spec.serviceAccountName: Too long"),
        (
            {"installNamespace": "n", "serviceAccountName": "a", "createNamespace": True},
            "spec.serviceAccountName and spec.createNamespace exclude each other",
        ),
        ({"prune": {"maxObjects": -1}}, "spec.prune.maxObjects"),
        ({"prune": {"when": "Never"}}, 'spec.prune.when: Unsupported value: "Never"'),
        ({"adopt": "Always"}, 'spec.adopt: Unsupported value: "Always"'),
        ({"config": "text"}, "spec.config in body must be of type object"),
        ({"overrides": [{"name": "a", "prune": True}]}, "spec.overrides[0].kind: Required value"),
        ({"overrides": [{"kind": "Pod", "prune": True}]}, "spec.overrides[0].name: Required value"),
        ({"overrides": [{"kind": "Pod", "name": "a"}]}, "an entry of spec.overrides needs prune, force or ignore"),
        ({"overrides": [OVERRIDE, {**OVERRIDE, "prune": False}]}, "spec.overrides[1]: Duplicate value"),
        ({"overrides": [{**OVERRIDE, "name": f"many-{number}"} for number in range(129)]}, "spec.overrides: Too many"),
        ({"patches": [PATCH] * 33}, "spec.patches: Too many"),
        ({"patches": [{**PATCH, "patch": "x" * 4097}]}, "spec.patches[0].patch: Too long"),
        ({"patches": [{**PATCH, "patch": ""}]}, "spec.patches[0].patch"),
        ({"patches": [{"patch": "x"}]}, "spec.patches[0].target: Required value"),
        ({"patches": [{**PATCH, "target": {"name": "a"}}]}, "spec.patches[0].target.kind: Required value"),
        (
            {"patches": [{**PATCH, "target": selecting({"key": "a", "operator": "Like"})}]},
            'matchExpressions[0].operator: Unsupported value: "Like"',
        ),
        ({"dependsOn": [{"name": f"other-{number}"} for number in range(17)]}, "spec.dependsOn: Too many"),
        ({"dependsOn": [{"name": "a"}, {"name": "a"}]}, "spec.dependsOn[1]: Duplicate value"),
        ({"dependsOn": [{"name": "A"}]}, "spec.dependsOn[0].name"),
        ({"dependsOn": ["a"]}, "spec.dependsOn[0] in body must be of type object"),
        ({"wait": {"timeout": "2"}}, "spec.wait.timeout"),
        ({"wait": {"timeout": "1.5h"}}, "spec.wait.timeout"),
        ({"wait": {"timeout": "0m"}}, "spec.wait.timeout must be a time above zero"),
    ],
)
async def test_bad_options_are_refused(client: Client, spec: Document, text: str) -> None:
    with pytest.raises(InvalidError) as refused:
        await client.create(DEPLOYMENTS, "", body(**spec), dry_run=True)
    assert text in refused.value.message


async def test_config_is_kept_whatever_it_is(client: Client) -> None:
    config = {"values": "a: 1\n", "deep": {"list": [1, 2.5, None, {"x": "y"}]}}
    created = await client.create(DEPLOYMENTS, "", body(config=config), dry_run=True)
    assert created.json is not None
    assert read_bundle_deployment(created.json).spec.config == config


async def test_nothing_is_defaulted_into_a_spec(client: Client) -> None:
    created = await client.create(DEPLOYMENTS, "", body(), dry_run=True)
    assert created.json is not None
    assert json.loads(created.json)["spec"] == json.loads(body())["spec"]


async def test_a_new_object_never_reads_as_current(client: Client) -> None:
    name = f"unserved-{uuid4().hex[:8]}"
    await client.create(DEPLOYMENTS, "", body(name))
    try:
        stored = json.loads(await client.get(DEPLOYMENTS, "", name))
        assert stored["status"] == {"observedGeneration": -1}
    finally:
        await client.delete(DEPLOYMENTS, "", name)


async def test_a_status_of_ours_is_stored_in_full(client: Client) -> None:
    name = f"unserved-{uuid4().hex[:8]}"
    now = "2026-01-01T00:00:00Z"
    condition = {"type": "Ready", "status": "True", "reason": "Succeeded", "message": "m", "lastTransitionTime": now}
    status = {
        "conditions": [condition | {"observedGeneration": 1}],
        "activeBundle": "b",
        "observedGeneration": 1,
        "digest": "sha256:0",
        "kinds": [{"group": "apps", "version": "v1", "kind": "Deployment"}, {"version": "v1", "kind": "Pod"}],
        "kept": [{"version": "v1", "kind": "Namespace", "name": "shop", "reason": "HoldsObjects"}],
        "appliedDigest": "d",
        "history": [
            {
                "bundle": "b",
                "digest": "sha256:0",
                "time": now,
                "config": {"free": {"form": 1}},
                "options": {"installNamespace": "a", "overrides": [OVERRIDE], "config": {"free": {"form": 1}}},
                "template": {"metadata": {"labels": {"a": "b"}}} | TEMPLATE,
            }
        ],
        "lastHandledReconcileAt": "now",
    }
    created = await client.create(DEPLOYMENTS, "", body(name))
    assert created.json is not None
    document = json.loads(created.json) | {"status": status}
    try:
        # The answer and not a later look: with such a status it is taken for one of ours, and its class is not served.
        answer = await client.replace(DEPLOYMENTS, "", name, json.dumps(document).encode(), subresource="status")
        assert answer.json is not None
        stored = json.loads(answer.json)
        assert stored["status"] == status
        assert read_bundle_deployment(stored).status.history[0].template is not None
    finally:
        await client.delete(DEPLOYMENTS, "", name)
