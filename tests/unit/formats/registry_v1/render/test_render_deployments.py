"""Deployments: what their pods are told, where certificates are mounted, and what users add."""

from typing import Any

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from tests.unit.bundles import bundle, csv_document, deployment, webhook
from tests.unit.rendering import Json, only, pod_of, rendered

SECRET = "demo-controller-service-cert"
ADDED_MOUNTS = [
    {"name": "webhook-cert", "mountPath": "/tmp/k8s-webhook-server/serving-certs"},
    {"name": "apiservice-cert", "mountPath": "/apiserver.local.config/certificates"},
]
ADDED_VOLUMES = [
    {
        "name": name,
        "secret": {
            "secretName": SECRET,
            "items": [{"key": "tls.crt", "path": f"{file}.crt"}, {"key": "tls.key", "path": f"{file}.key"}],
        },
    }
    for name, file in (("webhook-cert", "tls"), ("apiservice-cert", "apiserver"))
]


def tree(*, webhooks: tuple[Json, ...] = (), annotations: Json | None = None, **pod: Any) -> Tree:
    return bundle(csv=csv_document(webhooks=webhooks, annotations=annotations, deployments=[deployment(**pod)]))


def container(name: str = "manager", **fields: Any) -> Json:
    return {"name": name, "image": "example.com/demo:1", **fields}


def test_the_pods_carry_the_annotations_of_the_csv_and_what_they_watch() -> None:
    entry = deployment()
    entry["spec"]["template"]["metadata"]["annotations"] = {"own": "1", "both": "pod", "olm.targetNamespaces": "x"}
    entry["spec"]["revisionHistoryLimit"] = 5
    csv = csv_document(annotations={"both": "csv", "of-csv": "2"}, deployments=[entry])
    made = only(rendered(bundle(csv=csv), "b", "a"), "Deployment")
    annotations = made["spec"]["template"]["metadata"]["annotations"]
    assert {key: annotations[key] for key in ("own", "both", "of-csv", "capabilities")} == {
        "own": "1",
        "both": "pod",
        "of-csv": "2",
        "capabilities": "Basic Install",
    }
    assert annotations["olm.targetNamespaces"] == "b,a"
    assert annotations["olm.operatorNamespace"] == "operators"
    assert made["metadata"] == {"name": "demo-controller", "namespace": "operators", "labels": {"app": "demo"}}
    assert made["spec"]["revisionHistoryLimit"] == 1


def test_everything_is_an_empty_text_not_an_absent_one() -> None:
    made = only(rendered(bundle(), ""), "Deployment")
    assert made["spec"]["template"]["metadata"]["annotations"]["olm.targetNamespaces"] == ""


@pytest.mark.parametrize(
    ("file", "annotation"),
    [
        ("properties: []", "null"),  # nothing appended to nothing
        ("properties: [{type: a, value: 12345678901234567890}]", '[{"type":"a","value":12345678901234567890}]'),
    ],
)
def test_properties_of_the_bundle_reach_the_pods(file: str, annotation: str) -> None:
    made = only(rendered(bundle(files={"metadata/properties.yaml": file})), "Deployment")
    assert made["spec"]["template"]["metadata"]["annotations"]["olm.properties"] == annotation


def test_no_label_no_labels() -> None:
    entry = deployment()
    del entry["label"]
    made = only(rendered(bundle(csv=csv_document(deployments=[entry]))), "Deployment")
    assert "labels" not in made["metadata"]


def test_certificates_replace_what_was_mounted_in_their_place() -> None:
    made = rendered(
        tree(
            webhooks=(webhook("v"),),
            volumes=[
                {"name": "cert", "secret": {"secretName": "old"}},
                {"name": "kept", "emptyDir": {}},
                {"name": "webhook-cert", "emptyDir": {}},
            ],
            containers=[
                container(volumeMounts=[
                    {"name": "cert", "mountPath": "/tmp/k8s-webhook-server/serving-certs"},
                    {"name": "kept", "mountPath": "/kept"},
                ]),
                container("other", volumeMounts=[{"name": "cert", "mountPath": "/elsewhere"}]),
            ],
            initContainers=[container("init", volumeMounts=[{"name": "cert", "mountPath": "/i"}])],
        )
    )  # fmt: skip
    pod = pod_of(only(made, "Deployment"))
    assert pod["volumes"] == [{"name": "kept", "emptyDir": {}}, *ADDED_VOLUMES]
    first, second = pod["containers"]
    assert first["volumeMounts"] == [{"name": "kept", "mountPath": "/kept"}, *ADDED_MOUNTS]
    assert second["volumeMounts"] == ADDED_MOUNTS
    assert pod["initContainers"][0]["volumeMounts"] == [{"name": "cert", "mountPath": "/i"}]


def test_init_containers_are_not_looked_at() -> None:
    mount = {"name": "cert", "mountPath": "/apiserver.local.config/certificates"}
    made = rendered(
        tree(
            webhooks=(webhook("v"),),
            volumes=[{"name": "cert", "emptyDir": {}}],
            initContainers=[container("init", volumeMounts=[mount])],
        )
    )
    assert pod_of(only(made, "Deployment"))["volumes"][0] == {"name": "cert", "emptyDir": {}}


TERM = {"matchExpressions": [{"key": "k", "operator": "Exists"}]}
REQUIRED = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]}}
NO_TERMS: Json = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
PODS = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
TOLERATION = {"key": "a", "operator": "Exists"}


@pytest.mark.parametrize(
    ("before", "config", "after"),
    [
        ({}, {"nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "b"}}),
        ({"nodeSelector": {"x": "y"}}, {"nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "b"}}),
        ({"nodeSelector": {"x": "y"}}, {"nodeSelector": {}}, {"nodeSelector": None}),
        ({"nodeSelector": {"x": "y"}}, {"nodeSelector": None}, {"nodeSelector": {"x": "y"}}),
        ({"tolerations": [TOLERATION]}, {"tolerations": [TOLERATION, {"key": "b"}]},
         {"tolerations": [TOLERATION, {"key": "b"}]}),
        ({"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}]},
         {"volumes": [{"name": "c", "emptyDir": {}}, {"name": "a", "secret": {"secretName": "s"}}]},
         {"volumes": [{"name": "a", "secret": {"secretName": "s"}}, {"name": "b", "emptyDir": {}},
                      {"name": "c", "emptyDir": {}}]}),
        ({"affinity": {"nodeAffinity": REQUIRED}}, {"affinity": {}}, {"affinity": None}),
        ({"affinity": {"nodeAffinity": REQUIRED}}, {"affinity": {"podAffinity": PODS}},
         {"affinity": {"nodeAffinity": REQUIRED, "podAffinity": PODS}}),
        ({"affinity": {"nodeAffinity": REQUIRED, "podAffinity": PODS}}, {"affinity": {"nodeAffinity": NO_TERMS}},
         {"affinity": {"podAffinity": PODS}}),
        ({"affinity": {"nodeAffinity": REQUIRED}}, {"affinity": {"nodeAffinity": {}}}, {"affinity": None}),
        ({"affinity": {"podAffinity": {}}}, {"affinity": {"nodeAffinity": {}}}, {"affinity": None}),
    ],
)  # fmt: skip
def test_configured_pods(before: Json, config: Json, after: Json) -> None:
    pod = pod_of(only(rendered(tree(**before), config=config), "Deployment"))
    assert {key: pod.get(key) for key in after} == after


@pytest.mark.parametrize(
    ("before", "config", "after"),
    [
        ({"env": [{"name": "A", "value": "1"}, {"name": "B"}]},
         {"env": [{"name": "C"}, {"name": "A", "value": "2"}]},
         {"env": [{"name": "A", "value": "2"}, {"name": "B"}, {"name": "C"}]}),
        ({"envFrom": [{"prefix": "x", "secretRef": {"name": "s"}}]},
         {"envFrom": [{"prefix": "x", "secretRef": {"name": "s"}}, {"secretRef": {"name": "s"}}]},
         {"envFrom": [{"prefix": "x", "secretRef": {"name": "s"}}, {"secretRef": {"name": "s"}}]}),
        ({"volumeMounts": [{"name": "a", "mountPath": "/a"}]},
         {"volumeMounts": [{"name": "a", "mountPath": "/b"}, {"name": "c", "mountPath": "/c"}]},
         {"volumeMounts": [{"name": "a", "mountPath": "/b"}, {"name": "c", "mountPath": "/c"}]}),
        ({"resources": {"limits": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "1000m"}}},
         {"resources": {"requests": {"cpu": "1"}}}),
        ({"resources": {"limits": {"cpu": "1"}}}, {"resources": {}}, {"resources": {}}),
    ],
)  # fmt: skip
def test_configured_containers(before: Json, config: Json, after: Json) -> None:
    parts = tree(containers=[container(**before), container("b", **before)], initContainers=[container("i", **before)])
    pod = pod_of(only(rendered(parts, config=config), "Deployment"))
    for changed in pod["containers"]:
        assert {key: changed.get(key) for key in after} == after
    assert {key: pod["initContainers"][0].get(key) for key in before} == before


def test_configured_annotations_are_added_where_there_are_none() -> None:
    made = only(rendered(tree(annotations={"of-csv": "1"}), config={"annotations": {"of-csv": "x", "new": "2"}}),
                "Deployment")  # fmt: skip
    assert made["metadata"]["annotations"] == {"of-csv": "x", "new": "2"}
    annotations = made["spec"]["template"]["metadata"]["annotations"]
    assert (annotations["of-csv"], annotations["new"]) == ("1", "2")


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"selector": {}}, 'unknown field "selector"'),
        ({"env": {}}, 'invalid type for field "deploymentConfig.env": got object, want array'),
        ({"env": [{"value": "x"}]}, 'required field "deploymentConfig.env[0].name" is missing'),
        (
            {"env": [{"name": "A", "value": 5}]},
            'invalid type for field "deploymentConfig.env[0].value": got number, want a string',
        ),
        (
            {"nodeSelector": {"a": True}},
            'invalid type for field "deploymentConfig.nodeSelector.a": got boolean, want a string',
        ),
    ],
)
def test_a_wrong_configuration_is_refused(config: Json, problem: str) -> None:
    with pytest.raises(ContentError) as refused:
        rendered(tree(), config=config)
    assert str(refused.value) == f"invalid configuration: {problem}"
