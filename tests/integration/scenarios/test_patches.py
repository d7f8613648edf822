"""Objects of content that cannot be edited are patched, for every format, and what is installed follows."""

import json

import pytest

from rukpak_py.core.objects import RBAC_GROUP
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS
from tests.integration.policies import until_policies_settle
from tests.integration.scenarios.events import until_told
from tests.integration.scenarios.helm_charts import DEPLOYMENTS, chart_source, deploy
from tests.integration.scenarios.helm_charts import settings as template
from tests.integration.scenarios.stage import (
    BOTH_IDENTITIES,
    Document,
    Stage,
    condition,
    definition,
    is_observed,
    says,
    settings,
)
from tests.integration.tenancy.accounts import create_account
from tests.manifests import manifest, workload
from tests.waiting import eventually


def patch(change: str, *, kind: str = "ConfigMap", **target: object) -> Document:
    return {"target": {"kind": kind, **target}, "patch": change}


async def until_data(stage: Stage, **data: str) -> None:
    async def has() -> bool:
        return bool((await stage.settings())["data"] == data)

    await eventually(has, what=f"the settings are {data}")


@BOTH_IDENTITIES
async def test_patches_are_an_upgrade_and_what_they_make_is_kept(stage: Stage) -> None:
    content = await stage.content(settings(stage.namespace), workload("web", stage.namespace))
    adding = patch("data: {added: by the patch, key: null}", name="settings")
    name = await stage.installed(content, patches=[adding])
    await until_data(stage, added="by the patch")
    web = await stage.get(DEPLOYMENTS, stage.namespace, "web")

    body = json.dumps({"data": {"added": "by another client"}}).encode()
    await stage.client.patch(CONFIG_MAPS, stage.namespace, "settings", body)
    await until_data(stage, added="by the patch")

    other = patch("[{op: replace, path: /data/key, value: replaced}]", namespace=stage.namespace)
    missing = patch("data: {}", kind="Secret", labelSelector={"matchLabels": {"app": "x"}})
    await stage.edit(name, patches=[other, missing])
    text = "spec.patches[1] (Secret *): no object of the bundle matches"
    found = await stage.until_deployment(
        name, is_observed, says("Ready", "True"), says("Installed", "True", "InstallationSucceeded", text)
    )
    await until_told(stage, name, "PatchUnmatched", f"Warning: {text}")
    await until_data(stage, key="replaced")
    assert [len(one["options"]["patches"]) for one in found["status"]["history"]] == [2, 1]

    await stage.edit(name, patches=None)
    await until_data(stage, key="value")
    found = await stage.until_deployment(
        name, is_observed, says("Ready", "True"), lambda one: "patches" not in condition(one, "Installed")["message"]
    )
    assert "patches" not in found["status"]["history"][0]["options"]
    assert (await stage.get(DEPLOYMENTS, stage.namespace, "web"))["metadata"]["uid"] == web["metadata"]["uid"]


async def test_patch_that_does_not_fit_is_told_and_what_is_installed_stays(stage: Stage) -> None:
    name = await stage.installed(await stage.content(settings(stage.namespace)))
    await stage.edit(name, patches=[patch("metadata: {name: other}")])
    text = f"spec.patches[0] cannot be applied to ConfigMap {stage.namespace}/settings: it may not change metadata.name"
    await stage.until_deployment(
        name, is_observed, says("Ready", "False", "ContentError", text), says("HasValidBundle", "False")
    )
    await stage.client.delete(CONFIG_MAPS, stage.namespace, "settings")
    await eventually(stage.has_settings, what="drift is corrected meanwhile")
    await stage.edit(name, patches=[patch("data: {key: patched}")])
    await stage.until_ready(name)
    await until_data(stage, key="patched")


@pytest.mark.usefixtures("helm")
async def test_charts_are_patched_but_for_their_hooks_and_crds(stage: Stage) -> None:
    before = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: before\n  annotations: {helm.sh/hook: pre-install}\n"
    files = {
        "crds/widgets.yaml": json.dumps(definition(stage.group)),
        "templates/a.yaml": template("settings", a="1"),
        "templates/b.yaml": f"{before}data: {{key: hook}}\n",
    }
    label = "metadata: {labels: {patched: 'true'}}"
    patches = [
        patch(label),
        patch(label, kind="CustomResourceDefinition", group="apiextensions.k8s.io"),
        patch("[{op: replace, path: /data/a, value: patched}]", name="settings"),
    ]
    name = await deploy(stage, await chart_source(stage, files), config={"values": {"a": "x"}}, patches=patches)
    await stage.until_deployment(
        name, is_observed, says("Ready", "True"), says("Installed", "True", "", "spec.patches[1] (CustomResource")
    )
    found = await stage.settings()
    assert (found["data"], found["metadata"]["labels"]["patched"]) == ({"a": "patched"}, "true")
    assert "patched" not in ((await stage.settings("before"))["metadata"].get("labels") or {})
    crd = await stage.get(CRDS, "", f"widgets.{stage.group}")
    assert "patched" not in crd["metadata"]["labels"]


async def test_gates_judge_the_patched_objects(stage: Stage) -> None:
    granted = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    verbs = ["get", "list", "watch", "create", "patch", "update", "delete"]
    account = await create_account(
        stage.client,
        stage.namespace,
        rules=(
            granted,
            {"apiGroups": [RBAC_GROUP], "resources": ["roles"], "verbs": verbs},
        ),
    )
    await until_policies_settle(stage.client)
    role = manifest(f"{RBAC_GROUP}/v1", "Role", "reader", stage.namespace, rules=[granted])
    more = "[{op: add, path: /rules/-, value: {apiGroups: [''], resources: [secrets], verbs: [list]}}]"
    who: Document = {"installNamespace": stage.namespace, "serviceAccountName": account.name}
    patches = [patch(more, kind="Role", group=RBAC_GROUP)]
    name = await stage.deploy(await stage.content(role), **who, patches=patches)
    found = await stage.until_deployment(name, says("Ready", "False", "PermissionsMissing"))
    assert "secrets" in condition(found, "Installed")["message"]
    await stage.edit(name, patches=None)
    await stage.until_ready(name)
