"""The library's options of a rendering: checked like those of the command line, and never ignored."""

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml

import rukpak_py
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from tests.unit.bundles import Json, bundle, crd, csv_document, deployment, manifest, modes
from tests.unit.rendering import names, of_kind, only, pod_of

SAMPLES = Path(__file__).resolve().parents[2] / "docs/samples"
V1, NOTES = SAMPLES / "greeter-v1", SAMPLES / "notes"
OWN = bundle(csv=csv_document(installModes=modes("OwnNamespace")))


def written(tree: Tree, folder: Path) -> Path:
    for path in tree:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(tree[path])
    return folder


def with_typos() -> Tree:
    pod: Json = {"runAsNonRoot": True, "containers": [{"name": "c", "image": "i", "Env": []}]}
    definition = crd()
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["nullabel"] = True
    csv = csv_document(deployments=[deployment(**pod)])
    return bundle(csv=csv, crds=[definition], others=[manifest("ConfigMap", "c", dta={})])


def test_rendered_objects_have_no_field_that_an_api_server_refuses(tmp_path: Path) -> None:
    path = written(with_typos(), tmp_path)
    made = rukpak_py.render(path)
    pod = pod_of(only(made, "Deployment"))
    assert "runAsNonRoot" not in pod
    assert pod["containers"] == [{"name": "c", "image": "i", "resources": {}}]
    assert "dta" not in only(made, "ConfigMap")
    version = only(made, "CustomResourceDefinition")["spec"]["versions"][0]
    assert version["schema"]["openAPIV3Schema"] == {"type": "object"}
    unknown = [finding for finding in rukpak_py.validate(path) if finding.message.startswith("unknown field ")]
    assert [finding.path.rpartition(".")[2] for finding in unknown] == ["Env", "runAsNonRoot", "nullabel", "dta"]
    assert all(finding.line for finding in unknown)


def test_parity_is_the_references_rendering(tmp_path: Path) -> None:
    """Which keeps what it does not type."""
    assert only(rukpak_py.render(written(with_typos(), tmp_path), parity=True), "ConfigMap")["dta"] == {}


def test_plain_manifests_have_no_field_that_an_api_server_refuses(tmp_path: Path) -> None:
    objects = [manifest("ConfigMap", "c", dta={}), manifest("Widget", "w", api_version="a.b/v1", any=1)]
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests/all.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    config_map, widget = rukpak_py.render(tmp_path)
    assert "dta" not in config_map
    assert widget["any"] == 1


def test_in_parity_an_operator_that_can_only_watch_its_own_namespace_watches_it(tmp_path: Path) -> None:
    path = written(OWN, tmp_path)
    for parity in (False, True):
        (role,) = of_kind(rukpak_py.render(path, install_namespace="here", parity=parity), "Role")
        assert role["metadata"]["namespace"] == "here"
    with pytest.raises(ContentError, match="do not support target namespaces"):
        rukpak_py.render(path, watch_namespaces=["there"], parity=True)


def test_aggregated_roles_are_asked_for() -> None:
    name = "greetings.samples.rukpak.io"
    roles = {f"{name}-admin", f"{name}-edit", f"{name}-view"}
    assert roles <= set(names(rukpak_py.render(V1, aggregated_roles=True)))
    assert not roles & set(names(rukpak_py.render(V1)))
    with pytest.raises(ValueError, match="OLM's own renderer makes none"):
        rukpak_py.render(V1, aggregated_roles=True, parity=True)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"install_namespace": "A_b"}, ValueError, "install_namespace is 'A_b', not a valid namespace name: "),
        ({"install_namespace": 5}, TypeError, "install_namespace must be a string, got 5"),
        ({"watch_namespaces": ["a", "b,c"]}, ValueError, "each of watch_namespaces is 'b,c', not a valid"),
        ({"watch_namespaces": [None]}, TypeError, "each of watch_namespaces must be a string, got None"),
        ({"watch_namespaces": "team-a"}, TypeError, "watch_namespaces must be a list of strings"),
    ],
)
def test_namespaces_are_checked_before_the_bundle_is_opened(
    options: Json, error: type[Exception], text: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=f"^{text}"):
        rukpak_py.render(tmp_path / "absent", **options)


TOLERATION = "deploymentConfig.tolerations[0]"
DEFAULT_MODE = "deploymentConfig.volumes[0].secret.defaultMode"


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({1: "a"}, 'a key of "deploymentConfig" must be a string, got int 1'),
        ({"nodeSelector": {1: "a"}}, 'a key of "deploymentConfig.nodeSelector" must be a string, got int 1'),
        ({"env": [{"name": "a", None: 1}]}, 'a key of "deploymentConfig.env[0]" must be a string, got NoneType None'),
        ({"nodeSelector": {"a": object()}},
         'invalid type for field "deploymentConfig.nodeSelector.a": object is no JSON'),
        ({"nodeSelector": {"a": b"x"}}, 'invalid type for field "deploymentConfig.nodeSelector.a": bytes is no JSON'),
        ({"annotations": {"a": float("nan")}},
         'invalid value for field "deploymentConfig.annotations.a": it must be a finite number'),
        ({"tolerations": [{"tolerationSeconds": 1 << 63}]},
         f'invalid value for field "{TOLERATION}.tolerationSeconds": it must be an integer of 64 bits'),
        ({"volumes": [{"name": "v", "secret": {"defaultMode": 1 << 40}}]},
         f'invalid type for field "{DEFAULT_MODE}": got number, want an integer of 32 bits'),
        ([1], 'invalid type for field "deploymentConfig": got array, want object'),
        ({"Tolerations": []}, 'unknown field "Tolerations"; did you mean "tolerations"?'),
        ({"selector": {}}, 'unknown field "selector"'),
        ({"tolerations": [{"opeartor": "Exists"}]}, f'unknown field "{TOLERATION}.opeartor"; did you mean "operator"?'),
        ({"env": [{"name": "a", "valeu": "x"}]},
         'unknown field "deploymentConfig.env[0].valeu"; did you mean "value"?'),
        ({"volumes": [{"name": "v", "secret": {"secretname": "x"}}]},
         'unknown field "deploymentConfig.volumes[0].secret.secretname"; did you mean "secretName"?'),
        ({"affinity": {"podAffinity": {"nonsense": 1}}},
         'unknown field "deploymentConfig.affinity.podAffinity.nonsense"'),
    ],
)  # fmt: skip
def test_a_configuration_that_cannot_be_meant(config: Any, problem: str) -> None:
    with pytest.raises(ContentError) as refused:
        rukpak_py.render(V1, deployment_config=config)
    assert str(refused.value) == f"invalid configuration: {problem}"


def test_a_configuration_that_contains_itself_is_refused() -> None:
    config: Json = {"nodeSelector": {}}
    config["nodeSelector"]["again"] = config
    with pytest.raises(ContentError, match="it is nested too deeply"):
        rukpak_py.render(V1, deployment_config=config)


def test_any_mapping_and_any_sequence_will_do() -> None:
    config: Any = MappingProxyType({"env": ({"name": "A", "value": "b"},)})
    pod = pod_of(only(rukpak_py.render(V1, deployment_config=config), "Deployment"))
    assert {"name": "A", "value": "b"} in pod["containers"][0]["env"]


@pytest.mark.parametrize(
    "options",
    [
        {"watch_namespaces": ["a"]},
        {"certificates": "cert-manager"},
        {"deployment_config": {"nodeSelector": {}}},
        {"aggregated_roles": True},
        {"parity": True, "format": "plain"},
    ],
    ids=str,
)
def test_option_that_another_format_has_no_use_for_is_refused(options: Json) -> None:
    with pytest.raises(ContentError, match=r"for bundles of format registry\+v1, not plain$"):
        rukpak_py.render(NOTES, **options)
    with pytest.raises(ContentError, match=r"for bundles of format registry\+v1, not helm$"):
        rukpak_py.render(SAMPLES / "web-chart", **{**options, "format": "helm"})
