"""Charts that are installed: their values, objects that stay, that are refused and that are taken over."""

import json
from typing import Any

import pytest

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, CRDS
from tests.integration.scenarios.helm_charts import chart_source, deploy, has_data, installed, kept, settings
from tests.integration.scenarios.stage import Document, Stage, definition, is_observed, says, widget, widgets

pytestmark = pytest.mark.usefixtures("helm")
VALUED = {"values.yaml": "a: chart\nb: chart\n", "templates/a.yaml": settings(a=".Values.a", b=".Values.b")}
MANY = 1200


async def until_settings(stage: Stage, name: str = "settings", **data: str) -> Document:
    return await stage.until(CONFIG_MAPS, stage.namespace, name, has_data(**data))


async def test_values_are_changed_and_removed(stage: Stage) -> None:
    """Without values the chart's own count, not those of the release before."""
    name = await installed(stage, VALUED, config={"values": "a: ours\n"})
    await until_settings(stage, a="ours", b="chart")
    await stage.edit(name, config={"values": {"b": "ours"}})
    await until_settings(stage, a="chart", b="ours")
    await stage.edit(name, config=None)
    await until_settings(stage, a="chart", b="chart")
    await stage.until_ready(name)


async def test_values_that_do_not_render_leave_what_is_installed(stage: Stage) -> None:
    files = {"values.yaml": "port: 80\n", "templates/a.yaml": settings(port='int .Values.port | add 1 | required "x"')}
    files["templates/b.yaml"] = (
        '{{ if not (kindIs "float64" .Values.port) }}{{ fail "port must be a number" }}{{ end }}'
    )
    name = await installed(stage, files)
    await stage.edit(name, config={"values": "port: http\n"})
    text = "web/templates/b.yaml:1:"
    await stage.until_deployment(
        name,
        says("HasValidBundle", "False", "BundleLoadFailed", text, "port must be a number"),
        says("Stalled", "True"),
    )
    await stage.client.delete(CONFIG_MAPS, stage.namespace, "settings")
    await until_settings(stage, port="81")


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"values": "a: [\n"}, "read chart values: "),
        (
            {"values": 5},
            "parse deployment config: spec.config.values must be an object or a string of YAML, got a number",
        ),
        ({"other": True}, "parse deployment config: spec.config.other is not used for charts; values of the chart"),
        ({"valuesFrom": [{"kind": "Pod"}]}, "spec.config.valuesFrom[0].kind must be Secret or ConfigMap, got 'Pod'"),
    ],
)
async def test_refused_config_installs_nothing(stage: Stage, config: Document, text: str) -> None:
    name = await deploy(stage, await chart_source(stage, VALUED), config=config)
    await stage.until_deployment(name, says("HasValidBundle", "False", "BundleLoadFailed", text))
    assert not await stage.has_settings()


async def test_templates_see_the_release_and_the_cluster(stage: Stage) -> None:
    template = settings(
        release=".Release.Name",
        namespace=".Release.Namespace",
        revision=".Release.IsInstall",
        crds='.Capabilities.APIVersions.Has "core.rukpak.io/v1alpha1/BundleDeployment"',
        found='(lookup "v1" "Namespace" "" "default").metadata.name',
        absent='len (lookup "v1" "Namespace" "" "nosuch")',
        served='.Capabilities.APIVersions.Has "policy/v1beta1"',
    )
    name = await installed(stage, {"templates/a.yaml": template})
    seen = {"release": name, "namespace": stage.namespace, "revision": "true", "crds": "true"}
    seen |= {"found": "default", "absent": "0", "served": "false"}
    await until_settings(stage, **seen)


async def test_a_random_password_is_made_once(stage: Stage) -> None:
    """An edit that is not about the rendering, and drift, bring back what was rendered; other values render anew."""
    name = await installed(stage, {"templates/a.yaml": settings(password="randAlphaNum 20", a="default 1 .Values.a")})
    first = (await stage.settings())["data"]
    (entry,) = (await stage.deployment(name))["status"]["history"]
    assert entry["renderingDigest"].startswith("sha256:")
    await stage.edit(name, prune={"enabled": False}, adopt="IfUnowned")
    await stage.client.delete(CONFIG_MAPS, stage.namespace, "settings")
    await until_settings(stage, **first)
    await stage.barrier()
    assert len((await stage.deployment(name))["status"]["history"]) == 1

    await stage.edit(name, config={"values": "a: 2"})
    await stage.until(CONFIG_MAPS, stage.namespace, "settings", lambda found: found["data"]["a"] == "2")
    assert (await stage.settings())["data"]["password"] != first["password"]
    await stage.edit(name, config=None)
    await until_settings(stage, **first)


async def test_crds_of_a_chart_come_first_and_stay(stage: Stage) -> None:
    crd = definition(stage.group)
    files = {"crds/widgets.yaml": json.dumps(crd), "templates/one.yaml": json.dumps(widget(stage.group))}
    name = await installed(stage, {**files, "templates/a.yaml": settings(a="1")})
    assert await stage.exists(widgets(stage.group), "", "one")
    await stage.edit_template(name, await chart_source(stage, {"templates/a.yaml": settings(a="2")}, name="without"))
    await until_settings(stage, a="2")
    await stage.until_gone(widgets(stage.group), "", "one")
    await stage.until_ready(name)
    assert await stage.exists(CRDS, "", crd["metadata"]["name"])
    await stage.client.delete(CRDS, "", crd["metadata"]["name"])


async def test_definitions_stay_when_the_deployment_goes(stage: Stage) -> None:
    crd = definition(stage.group)
    files = {"crds/widgets.yaml": json.dumps(crd), "templates/kept.yaml": kept("kept")}
    name = await installed(stage, {**files, "templates/one.yaml": json.dumps(widget(stage.group))})
    for resource, namespace, one in ((CRDS, "", crd["metadata"]["name"]), (CONFIG_MAPS, stage.namespace, "kept")):
        metadata = (await stage.get(resource, namespace, one))["metadata"]
        assert "ownerReferences" not in metadata
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until_gone(widgets(stage.group), "", "one")
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", name)
    assert await stage.exists(CRDS, "", crd["metadata"]["name"])
    assert await stage.has_settings("kept")
    await stage.client.delete(CRDS, "", crd["metadata"]["name"])


async def test_kept_object_stays_when_it_leaves_the_chart(stage: Stage) -> None:
    name = await installed(stage, {"templates/kept.yaml": kept("kept"), "templates/a.yaml": settings("gone", a="1")})
    await stage.edit_template(name, await chart_source(stage, {"templates/b.yaml": settings("b", a="1")}, name="next"))
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "gone")
    await stage.until_ready(name)
    assert await stage.has_settings("kept")


async def test_chart_with_many_objects_is_installed(stage: Stage) -> None:
    template = f"{{{{ range $i := until {MANY} }}}}\n---\n{settings('many-{{ $i }}', a='$i')}{{{{ end }}}}"
    name = await deploy(stage, await chart_source(stage, {"templates/many.yaml": template}))
    await stage.until_deployment(name, says("Ready", "True"), seconds=90)
    assert await stage.has_settings(f"many-{MANY - 1}")


async def test_chart_of_a_deployment_of_another_class_is_refused(stage: Stage) -> None:
    name = await deploy(stage, await chart_source(stage, VALUED), provisionerClassName=PLAIN_CLASS)
    text = (
        "a BundleDeployment of class core-rukpak-io-plain cannot install a Bundle of class core-rukpak-io-helm; "
        "set spec.provisionerClassName to core-rukpak-io-helm, or change the class of spec.template"
    )
    await stage.until_deployment(name, says("HasValidBundle", "False", "BundleLoadFailed", text))
    await stage.edit(name, provisionerClassName="core-rukpak-io-helm")
    await stage.until_ready(name)


async def test_a_chart_that_waits_for_a_kind_goes_on_when_it_is_there(stage: Stage) -> None:
    """A template that fails for want of a kind is asked again when the cluster serves other kinds."""
    api = f"{stage.group}/v1"
    guard = (
        f'{{{{ if not (.Capabilities.APIVersions.Has "{api}") }}}}{{{{ fail "install widgets first" }}}}{{{{ end }}}}'
    )
    name = await deploy(stage, await chart_source(stage, {"templates/a.yaml": settings(a="1"), "templates/g": guard}))
    await stage.until_deployment(name, says("Stalled", "True", "ContentError", "install widgets first"))
    crd = definition(stage.group)
    await stage.create(CRDS, "", crd)
    await stage.until_deployment(name, says("Ready", "True"), seconds=90)


def of_helm(stage: Stage, release: str) -> Document:
    annotations = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": stage.namespace}
    metadata = {"name": "settings", "annotations": annotations, "labels": {"app.kubernetes.io/managed-by": "Helm"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "theirs", "old": "theirs"}}


async def test_object_that_the_original_installed_is_taken_over(stage: Stage) -> None:
    """It has our labels, a reference to the deployment, and helm's marks of a release of the same name."""
    name = await deploy(stage, await chart_source(stage, VALUED), suspend=True)
    uid = (await stage.deployment(name))["metadata"]["uid"]
    body = of_helm(stage, name)
    body["metadata"]["labels"] |= {"core.rukpak.io/owner-kind": "BundleDeployment", "core.rukpak.io/owner-name": name}
    owner: dict[str, Any] = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "BundleDeployment", "name": name}
    body["metadata"]["ownerReferences"] = [{**owner, "uid": uid, "controller": True, "blockOwnerDeletion": True}]
    await stage.client.create(CONFIG_MAPS, stage.namespace, canonical_json(body), field_manager="manager")
    await stage.edit(name, suspend=False)
    found = await until_settings(stage, a="chart", b="chart")
    await stage.until_ready(name)
    assert "meta.helm.sh/release-name" not in found["metadata"]["annotations"]
    assert [one["uid"] for one in found["metadata"]["ownerReferences"]] == [uid]


async def test_object_of_a_helm_release_needs_force(stage: Stage) -> None:
    body = canonical_json(of_helm(stage, "shop"))
    await stage.client.create(CONFIG_MAPS, stage.namespace, body, field_manager="helm")
    name = await deploy(stage, await chart_source(stage, VALUED), adopt="IfUnowned")
    text = f"is managed by Helm (release {stage.namespace}/shop)"
    await stage.until_deployment(name, says("Ready", "False", "Conflict", text))
    await stage.edit(name, adopt="Force")
    await until_settings(stage, a="chart", b="chart", old="theirs")
    await stage.until_ready(name)


async def test_null_in_values_is_kept_or_dropped_by_the_way_it_is_sent(stage: Stage) -> None:
    """docs/helm-charts.md has the table. A string of YAML is kept as it is."""
    name = await deploy(stage, await chart_source(stage, VALUED), suspend=True)
    manifest = await stage.deployment(name)
    body = {key: manifest[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": name}}

    async def sent(values: object, *command: str) -> object:
        body["spec"]["config"] = {"values": values}
        await stage.run_kubectl(*command, "--filename=-", stdin=json.dumps(body))
        return (await stage.deployment(name))["spec"]["config"]["values"]

    object_form = {"a": None, "b": {"c": None}}
    assert await sent(object_form, "apply") == {"b": {}}
    assert await sent("a: null\nb: {c: ~}\n", "apply") == "a: null\nb: {c: ~}\n"
    assert await sent(object_form, "apply", "--server-side", "--force-conflicts") == object_form


async def test_release_name_that_changes_is_an_upgrade_and_a_wrong_one_is_refused(stage: Stage) -> None:
    """A name that helm does not take leaves the installed content as it is."""
    chart = await chart_source(stage, {"templates/a.yaml": settings(a=".Release.Name")})
    name = await deploy(stage, chart, config={"releaseName": "first"})
    await until_settings(stage, a="first")
    await stage.until_ready(name)
    await stage.edit(name, config={"releaseName": "second"})
    await until_settings(stage, a="second")
    assert len((await stage.until_ready(name))["status"]["history"]) == 2
    await stage.edit(name, config={"releaseName": "x" * 54})
    text = "is not a valid release name: it has 54 bytes; helm allows 53"
    await stage.until_deployment(name, is_observed, says("HasValidBundle", "False", "BundleLoadFailed", text))
    await stage.edit(name, config=None)
    await until_settings(stage, a=name)
