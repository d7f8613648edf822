"""Keys that are given twice: POST stores both, server-side apply refuses the object."""

from typing import Any

import pytest

from rukpak_py.apply.normalise import Normalised, normalise
from rukpak_py.core.objects import GroupVersionKind, ObjectKey

DEPLOYMENT = ("apps/v1", "Deployment", ("spec", "template", "spec"))
WITH_POD_TEMPLATE = [
    ("v1", "Pod", ("spec",)),
    ("v1", "PodTemplate", ("template", "spec")),
    ("v1", "ReplicationController", ("spec", "template", "spec")),
    ("apps/v1", "DaemonSet", ("spec", "template", "spec")),
    DEPLOYMENT,
    ("apps/v1", "ReplicaSet", ("spec", "template", "spec")),
    ("apps/v1", "StatefulSet", ("spec", "template", "spec")),
    ("batch/v1", "Job", ("spec", "template", "spec")),
    ("batch/v1", "CronJob", ("spec", "jobTemplate", "spec", "template", "spec")),
]


def normal(api_version: str, kind: str, fields: dict[str, Any]) -> Normalised:
    manifest = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "shop"}, **fields}
    return normalise(manifest, namespaced=True, default_namespace="shop")


def wrapped(path: tuple[str, ...], pod_spec: dict[str, Any]) -> dict[str, Any]:
    for key in reversed(path):
        pod_spec = {key: pod_spec}
    return pod_spec


def pod_spec_of(pod_spec: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    api_version, kind, path = DEPLOYMENT
    result = normal(api_version, kind, wrapped(path, pod_spec))
    return result.manifest["spec"]["template"]["spec"], result.warnings


@pytest.mark.parametrize(("api_version", "kind", "path"), WITH_POD_TEMPLATE)
@pytest.mark.parametrize("containers", ["containers", "initContainers", "ephemeralContainers"])
def test_the_last_value_of_a_variable_counts_wherever_a_pod_is_described(
    api_version: str, kind: str, path: tuple[str, ...], containers: str
) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}, {"name": "A", "value": "2"}]
    result = normal(api_version, kind, wrapped(path, {containers: [{"name": "c", "env": env}]}))
    spec: Any = result.manifest
    for key in path:
        spec = spec[key]
    # at the first place: B still finds A
    assert spec == {containers: [{"name": "c", "env": [{"name": "A", "value": "2"}, {"name": "B", "value": "$(A)"}]}]}
    where = ".".join(path)
    name = ObjectKey(GroupVersionKind.parse(api_version, kind).group, kind, "shop", "x")
    assert result.warnings == (
        f"{name}: {where}.{containers}[0].env: env A is given more than once; the last one is used",
    )


def test_ports_are_the_same_when_number_and_protocol_are() -> None:
    ports = [
        {"containerPort": 80, "name": "a"},
        {"containerPort": 80, "protocol": "UDP"},
        {"containerPort": 80, "protocol": "TCP", "name": "b"},
        {"containerPort": 80, "protocol": "", "name": "c"},
        {"containerPort": 81, "protocol": None},
    ]
    spec, warnings = pod_spec_of({"containers": [{"name": "c", "ports": ports}]})
    assert spec["containers"][0]["ports"] == [
        {"containerPort": 80, "name": "c"},
        {"containerPort": 80, "protocol": "UDP"},
        {"containerPort": 81},
    ]
    assert len(warnings) == 2  # b after a, c after b
    where = "Deployment.apps/shop/x: spec.template.spec.containers[0].ports"
    told = f"{where}: port 80/TCP is given more than once; the last one is used, and its name {{!r}} is lost: "
    assert [warning.startswith(told.format(name)) for warning, name in zip(warnings, "ab", strict=True)] == [True] * 2


def handled(port: int | str) -> dict[str, Any]:
    return {
        "readinessProbe": {"httpGet": {"port": port}, "periodSeconds": 1},
        "startupProbe": {"tcpSocket": {"port": port}},
        "lifecycle": {"preStop": {"httpGet": {"port": port, "path": "/stop"}}, "postStart": {"exec": {}}},
    }


@pytest.mark.parametrize(("given", "wanted"), [("http", 80), ("metrics", "metrics"), ("other", "other"), (80, 80)])
def test_probes_and_hooks_find_a_port_whose_name_is_lost(given: int | str, wanted: int | str) -> None:
    ports = [{"containerPort": 80, "name": "http"}, {"containerPort": 80, "name": "metrics"}]
    spec, _ = pod_spec_of({"containers": [{"name": "c", "ports": ports, **handled(given)}]})
    assert spec["containers"] == [{"name": "c", "ports": [ports[1]], **handled(wanted)}]


def test_a_name_that_another_port_has_too_still_means_that_one() -> None:
    """The server refuses two ports of one name; it is not for us to choose."""
    ports = [{"containerPort": 80, "name": "a"}, {"containerPort": 80, "name": "b"}, {"containerPort": 81, "name": "a"}]
    spec, _ = pod_spec_of({"containers": [{"name": "c", "ports": ports, **handled("a")}]})
    assert spec["containers"] == [{"name": "c", "ports": ports[1:], **handled("a")}]


def test_without_a_port_that_is_given_twice_probes_are_not_looked_at() -> None:
    container = {"name": "c", "ports": [{"containerPort": 80, "name": "http"}], "readinessProbe": "odd"}
    assert pod_spec_of({"containers": [container]}) == ({"containers": [container]}, ())


def test_pull_secrets_are_joined_without_a_word_when_nothing_is_lost() -> None:
    spec, warnings = pod_spec_of({"imagePullSecrets": [{"name": "a"}, {"name": "b"}, {"name": "a"}, {}, {}]})
    assert spec == {"imagePullSecrets": [{"name": "a"}, {"name": "b"}, {}]}
    assert warnings == ()


def test_host_names_of_one_address_are_all_kept() -> None:
    aliases = [{"ip": "10.0.0.1", "hostnames": ["a", "b"]}, {"ip": "10.0.0.1", "hostnames": ["b", "c"]}]
    spec, warnings = pod_spec_of({"hostAliases": aliases})
    assert spec == {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a", "b", "c"]}]}
    assert warnings == ()


def test_repeated_secret_of_an_account_is_sent_once() -> None:
    result = normal("v1", "ServiceAccount", {"secrets": [{"name": "a"}, {"name": "a"}]})
    assert result.manifest["secrets"] == [{"name": "a"}]


@pytest.mark.parametrize(
    "pod_spec",
    [
        {"containers": [{"name": "c"}, {"name": "c"}]},  # POST refuses these too: the server says why
        {"volumes": [{"name": "v"}, {"name": "v"}]},
        {"containers": [{"name": "c", "volumeMounts": [{"mountPath": "/v"}, {"mountPath": "/v"}]}]},
        {"containers": [{"name": "c", "env": [{"value": "1"}, {"value": "1"}, {"name": 1}, {"name": 1}, None]}]},
        {"containers": [{"name": "c", "ports": [{"containerPort": "80"}, {"containerPort": "80"}]}]},
        {"tolerations": [{"operator": "Exists"}, {"operator": "Exists"}]},  # not a map for the server
    ],
)
def test_other_duplicates_are_left_to_the_server(pod_spec: dict[str, Any]) -> None:
    assert pod_spec_of(pod_spec) == (pod_spec, ())
