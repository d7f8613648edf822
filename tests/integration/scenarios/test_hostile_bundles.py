"""Content that means harm, or makes no sense: told in a condition, never in a traceback."""

from typing import Any

import pytest
import yaml

from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS, NAMESPACES
from tests.integration.scenarios.stage import Document, Stage, condition, phase, says, settings
from tests.manifests import source


@pytest.mark.parametrize("path", ["../outside", "..", "manifests/../../outside"])
async def test_a_path_outside_of_the_bundle_is_refused(stage: Stage, path: str) -> None:
    refused = await stage.refusal(stage.bundle(source("any", path=path)))
    assert refused == (
        'admission webhook "vbundles.core.rukpak.io" denied the request: '
        f'bundle.spec.source.configmaps[0].path is invalid: "{path}" is outside bundle root'
    )


@pytest.mark.parametrize("path", ["/etc", "manifests\\x", "a/" * 40, "x" * 2000, "zeile\num", "ünïcödé/🐙"])
async def test_an_odd_path_ends_as_a_condition(stage: Stage, path: str) -> None:
    config_map = await stage.files({"a.yaml": yaml.safe_dump(settings(stage.namespace))})
    name = await stage.bundle(source(config_map, path=path))
    found = await stage.until_bundle(name, says("Unpacked", "False", "UnpackFailed"))
    assert says("Stalled", "True", "ContentError")(found)
    assert len(condition(found, "Unpacked")["message"]) < 1000


@pytest.mark.parametrize("key", ["..", "../x", "a/b", "x" * 254, "ü", "a\nb"])
async def test_a_file_name_that_is_none_never_gets_into_a_config_map(stage: Stage, key: str) -> None:
    assert "Invalid value" in await stage.refusal(stage.files({key: "a: b"}))


@pytest.mark.parametrize("name", ["..", "a/../b", "x" * 53, "Ünïcode", "two\nlines", "%2e%2e"])
async def test_a_bundle_of_a_hostile_name_is_refused(stage: Stage, name: str) -> None:
    refused = await stage.refusal(stage.bundle(source("any"), name=name))
    assert "metadata.name" in refused
    assert not [one for one in (await stage.client.list_metadata(BUNDLES)).items if one.metadata.name == name]


HOSTILE: dict[str, Document] = {
    "parent": {"metadata": {"name": ".."}},
    "itself": {"metadata": {"name": "."}},
    "path": {"metadata": {"name": "../../namespaces/kube-system"}},
    "encoded": {"metadata": {"name": "%2e%2e%2fsecrets"}},
    "query": {"metadata": {"name": "a?force=true#b"}},
    "newline": {"metadata": {"name": "two\nlines"}},
    "unicode": {"metadata": {"name": "ünïcödé🐙"}},
    "long": {"metadata": {"name": "x" * 300}},
    "very long": {"metadata": {"name": "x" * 20_000}},
    "blank": {"metadata": {"name": " "}},
    "namespace is a path": {"metadata": {"name": "a", "namespace": "../kube-system"}},
    "namespace is long": {"metadata": {"name": "a", "namespace": "x" * 300}},
    "labels are a list": {"metadata": {"name": "a", "labels": ["a"]}},
    "annotations are a text": {"metadata": {"name": "a", "annotations": "a"}},
    "a label is a number": {"metadata": {"name": "a", "labels": {"a": 1}}},
    "a label has a newline": {"metadata": {"name": "a", "labels": {"a\nb": "c"}}},
    "data is a list": {"metadata": {"name": "a"}, "data": ["a"]},
    "key is a path": {"metadata": {"name": "a"}, "data": {"../x": "a"}},
}


@pytest.mark.parametrize("case", HOSTILE)
async def test_a_hostile_manifest_is_refused_whole(stage: Stage, case: str) -> None:
    """It is named in the condition, and its innocent neighbour, of an earlier phase, shows that the rest was fine."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": stage.name}}
    hostile = {"apiVersion": "v1", "kind": "ConfigMap"} | HOSTILE[case]
    await stage.deploy(await stage.content(role, hostile), installNamespace=stage.namespace)
    found = await stage.until_deployment(stage.name, says("Ready", "False"))
    message = condition(found, "Ready")["message"]
    assert message
    assert len(message) < 5000 or case == "very long"
    assert not (await stage.client.list_metadata(CONFIG_MAPS, stage.namespace, label_selector=owned(stage))).items
    assert await stage.exists(NAMESPACES, "", "kube-system")


@pytest.mark.parametrize(
    ("text", "says_so"),
    [
        ("metadata: {name: a}", "Object 'Kind' is missing"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: []", ""),
        ("apiVersion: v1\nkind: ConfigMap", ""),
        ("apiVersion: ../../x\nkind: ConfigMap\nmetadata: {name: a}", ""),
        ("apiVersion: v1\nkind: ../secrets\nmetadata: {name: a}", ""),
        ("kind: [ConfigMap]\napiVersion: v1\nmetadata: {name: a}", ""),
        ("a: &a [*a]", ""),
        ("- " * 600 + "a", ""),
        ("\u0000", ""),
    ],
)
async def test_text_that_is_no_manifest_ends_as_a_condition(stage: Stage, text: str, says_so: str) -> None:
    await stage.deploy(source(await stage.files({"a.yaml": text})), installNamespace=stage.namespace)
    found = await stage.until_deployment(stage.name, says("Ready", "False"))
    assert says_so in condition(found, "Ready")["message"]


async def test_61_kilobytes_that_become_342_megabytes_are_refused_when_the_bundle_is_unpacked(stage: Stage) -> None:
    text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx0: &a0 "%s"\n' % ("a" * 60_000)
    text += f"x1: &a1 [{','.join(['*a0'] * 100)}]\nx2: [{','.join(['*a1'] * 60)}]\n"
    name = await stage.bundle(source(await stage.files({"a.yaml": text})))
    found = await stage.until_bundle(name, phase("Failing"), says("Stalled", "True", "ContentError"))
    assert condition(found, "Unpacked")["message"] == (
        "get objects from bundle manifests: error parsing manifests/a.yaml: "
        "YAML with its aliases expanded exceeds the limit of 64 MiB (RUKPAK_LIMIT_RENDERED_BYTES sets it). "
        "Make the file smaller, or raise the limit; rukpakctl bundle validate lists all"
    )


async def test_files_of_odd_names_are_read_like_all_others(stage: Stage) -> None:
    """Whatever the extension, dot files included; the longest name that a ConfigMap allows."""
    names = ["README", ".hidden", "x" * 253, "-", "a.b.c.json"]
    files = {name: yaml.safe_dump(settings(stage.namespace, f"c{number}")) for number, name in enumerate(names)}
    await stage.installed(source(await stage.files(files)))
    for number in range(len(names)):
        assert await stage.has_settings(f"c{number}")


async def test_marks_of_ours_in_content_are_ours_to_set(stage: Stage) -> None:
    """Content cannot pretend to have another owner."""
    manifest = settings(stage.namespace, annotations={"core.rukpak.io/applied": "sha256:0", "a": "b"})
    manifest["metadata"]["labels"] = {"core.rukpak.io/owner-name": "other", "core.rukpak.io/owner-kind": "Bundle"}
    owner: Any = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "0", "controller": True}
    manifest["metadata"]["ownerReferences"] = [owner]
    name = await stage.installed(await stage.content(manifest))
    metadata = (await stage.settings())["metadata"]
    assert metadata["labels"] == {
        "core.rukpak.io/owner-kind": "BundleDeployment",
        "core.rukpak.io/owner-name": name,
    }
    assert [one["kind"] for one in metadata["ownerReferences"]] == ["BundleDeployment"]
    assert metadata["annotations"]["core.rukpak.io/applied"] != "sha256:0"


async def test_bundle_of_the_longest_name_is_unpacked(stage: Stage) -> None:
    name = stage.name + "x" * (52 - len(stage.name))
    await stage.bundle(await stage.content(settings(stage.namespace)), name=name)
    await stage.until_bundle(name, phase("Unpacked"))
    assert (stage.operator.storage / f"{name}.tgz").is_file()


def owned(stage: Stage) -> str:
    return f"core.rukpak.io/owner-name={stage.name}"
