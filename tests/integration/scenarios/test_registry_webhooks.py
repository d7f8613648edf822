"""Webhooks of OLM bundles: their Secret, and the CA in everything that calls them, without cert-manager."""

import base64
import json
from typing import Any

import pytest

from rukpak_py.api.names import OWNER_NAME_LABEL
from rukpak_py.core import x509
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import JSON_PATCH
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CRDS, SECRETS, Resource
from tests.integration.scenarios.olm_bundles import MODES, deploy, registry_source
from tests.integration.scenarios.stage import COLLECTOR_SECONDS, Document, Stage, says
from tests.unit.bundles import manifest, webhook
from tests.waiting import eventually

ADMISSION = "admissionregistration.k8s.io"
VALIDATING = Resource(
    gvk=GroupVersionKind(ADMISSION, "v1", "ValidatingWebhookConfiguration"),
    plural="validatingwebhookconfigurations",
    namespaced=False,
)
DEPLOYMENTS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)
SECRET = "controller-service-cert"
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
VERSIONS = [
    {"name": "v1", "served": True, "storage": True, "schema": SCHEMA},
    {"name": "v2", "served": True, "storage": False, "schema": SCHEMA},
]
CONVERTING = {"versions": VERSIONS, "preserveUnknownFields": False}


def validating(stage: Stage, name: str = "validate") -> Document:
    rule = {"apiGroups": [stage.group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["demos"]}
    return webhook(f"{name}.{stage.group}", deployment_name="controller", rules=[rule], webhookPath="/validate")


def conversion(stage: Stage) -> Document:
    crds = [f"demos.{stage.group}"]
    return webhook(f"convert.{stage.group}", "Conversion", deployment_name="controller", conversionCRDs=crds)


async def installed(stage: Stage, *webhooks: Document, **given: Any) -> None:
    modes = ["AllNamespaces"] if any(one["type"] == "ConversionWebhook" for one in webhooks) else MODES
    source = await registry_source(stage, webhooks=webhooks, install_modes=modes, **given)
    await deploy(stage, source, installNamespace=stage.namespace)
    await stage.until_ready(stage.name)


async def upgrade(stage: Stage, *webhooks: Document, **given: Any) -> None:
    modes = ["AllNamespaces"] if any(one["type"] == "ConversionWebhook" for one in webhooks) else MODES
    await stage.edit_template(stage.name, await registry_source(stage, webhooks=webhooks, install_modes=modes, **given))
    await stage.until_deployment(stage.name, lambda one: len(one["status"]["history"]) == 2, says("Ready", "True"))


async def trust(stage: Stage) -> bytes:
    secret = await stage.get(SECRETS, stage.namespace, SECRET)
    return base64.b64decode(secret["data"]["ca.crt"])


async def configurations(stage: Stage) -> list[Document]:
    output = json.loads(await stage.run_kubectl("get", VALIDATING.plural, "-o", "json"))
    return [one for one in output["items"] if one["metadata"].get("labels", {}).get(OWNER_NAME_LABEL) == stage.name]


async def bundles_in_place(stage: Stage) -> set[bytes]:
    """Every CA that stands in a webhook configuration or in the CRD; empty where none does."""
    hooks = [hook for one in await configurations(stage) for hook in one["webhooks"]]
    found = {hook["clientConfig"].get("caBundle", "") for hook in hooks}
    crd = await stage.get(CRDS, "", f"demos.{stage.group}")
    client = crd["spec"].get("conversion", {}).get("webhook", {}).get("clientConfig")
    if client is not None:
        found.add(client.get("caBundle", ""))
    return {base64.b64decode(one) for one in found}


async def test_webhooks_get_a_certificate_and_their_callers_its_ca(stage: Stage) -> None:
    await installed(stage, validating(stage), conversion(stage), definition=CONVERTING)
    secret = await stage.get(SECRETS, stage.namespace, SECRET)
    data = {name: base64.b64decode(value) for name, value in secret["data"].items()}
    pair = x509.KeyPair(certificate=data["tls.crt"], key=data["tls.key"])
    assert x509.is_pair(pair)
    assert x509.covers(pair.certificate, [f"controller-service.{stage.namespace}.svc"])
    assert x509.issuers(pair.certificate, data["ca.crt"])
    (owner,) = secret["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("BundleDeployment", stage.name, True)
    assert await bundles_in_place(stage) == {data["ca.crt"]}
    status = json.dumps((await stage.deployment())["status"])
    assert "CERTIFICATE" not in status
    assert '"Secret"' not in status


async def test_a_deleted_secret_comes_back_and_what_it_signed_stays_trusted(stage: Stage) -> None:
    await installed(stage, validating(stage))
    before = await trust(stage)
    await stage.client.delete(SECRETS, stage.namespace, SECRET)

    async def is_back() -> bool:
        return await stage.exists(SECRETS, stage.namespace, SECRET) and await trust(stage) != before

    await eventually(is_back, what="the Secret is made again")
    now = await trust(stage)
    assert before.strip() in now

    async def is_everywhere() -> bool:
        return await bundles_in_place(stage) == {now}

    await eventually(is_everywhere, what="the new CA is injected beside the former one")


async def test_removed_ca_is_injected_again(stage: Stage) -> None:
    await installed(stage, validating(stage))
    (configuration,) = await configurations(stage)
    patch = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
    body = json.dumps(patch).encode()
    await stage.client.patch(VALIDATING, "", configuration["metadata"]["name"], body, content_type=JSON_PATCH)
    expected = await trust(stage)

    async def is_back() -> bool:
        return await bundles_in_place(stage) == {expected}

    await eventually(is_back, what="the CA is injected again")


@pytest.mark.parametrize("left", ["a webhook", "the conversion"])
async def test_webhook_that_an_upgrade_drops_is_not_kept_alive_by_its_ca(stage: Stage, left: str) -> None:
    """A webhook or a conversion of which only our field is left would be invalid, and the upgrade refused."""
    hooks = [validating(stage), conversion(stage)]
    await installed(stage, *hooks, definition=CONVERTING)
    (kept,) = hooks[:1] if left == "the conversion" else hooks[1:]
    await upgrade(stage, kept, definition=CONVERTING, version="1.1.0", name="next")
    crd = await stage.get(CRDS, "", f"demos.{stage.group}")
    assert crd["spec"]["conversion"]["strategy"] == ("None" if left == "the conversion" else "Webhook")
    assert len(await configurations(stage)) == (1 if left == "the conversion" else 0)
    assert await bundles_in_place(stage) == {await trust(stage)}


async def test_an_install_that_failed_half_way_is_edited_to_drop_its_conversion(stage: Stage) -> None:
    """The CRD has our CA already, though nothing was ever installed."""
    both = {"minAvailable": 1, "maxUnavailable": 1, "selector": {"matchLabels": {"app": "demo"}}}
    refused = manifest("PodDisruptionBudget", "budget", api_version="policy/v1", spec=both)
    source = await registry_source(
        stage,
        webhooks=[conversion(stage)],
        install_modes=["AllNamespaces"],
        definition=CONVERTING,
        others=[refused],
    )
    await deploy(stage, source, installNamespace=stage.namespace)
    await stage.until_deployment(stage.name, says("Installed", "False", "InstallFailed", "budget"))

    async def has_our_ca() -> bool:
        return b"" not in await bundles_in_place(stage)

    await eventually(has_our_ca, what="the CRD has the CA")
    await stage.edit_template(stage.name, await registry_source(stage, definition=CONVERTING, name="next"))
    await stage.until_ready(stage.name)
    crd = await stage.get(CRDS, "", f"demos.{stage.group}")
    assert crd["spec"]["conversion"]["strategy"] == "None"


async def test_the_secret_goes_with_the_last_webhook(stage: Stage) -> None:
    await installed(stage, validating(stage))
    await upgrade(stage, version="1.1.0", name="next")
    await stage.until_gone(SECRETS, stage.namespace, SECRET)


async def test_foreign_secret_of_a_certificate_is_a_conflict(stage: Stage) -> None:
    theirs = {"metadata": {"name": SECRET}, "stringData": {"tls.crt": "theirs"}}
    await stage.create(SECRETS, stage.namespace, theirs)
    source = await registry_source(stage, webhooks=[validating(stage)])
    await deploy(stage, source, installNamespace=stage.namespace)
    text = f"Secret {stage.namespace}/{SECRET} exists and was not made for this BundleDeployment"
    await stage.until_deployment(stage.name, says("Installed", "False", "InstallFailed", text))
    assert set((await stage.get(SECRETS, stage.namespace, SECRET))["data"]) == {"tls.crt"}
    await stage.client.delete(SECRETS, stage.namespace, SECRET)
    await stage.run_kubectl("annotate", "bundledeployment", stage.name, "core.rukpak.io/reconcile-at=now")
    await stage.until_ready(stage.name)


async def test_a_secret_that_was_orphaned_is_taken_and_signed_anew(stage: Stage) -> None:
    """It is orphaned with all objects of the deployment; the webhooks still trust what their pods serve."""
    await installed(stage, validating(stage))
    former, before = await stage.deployment(), await trust(stage)
    await stage.run_kubectl("delete", "bundledeployment", stage.name, "--cascade=orphan", "--timeout=60s")

    async def is_orphan() -> bool:
        secret = await stage.get(SECRETS, stage.namespace, SECRET)
        return "ownerReferences" not in secret["metadata"]

    await eventually(is_orphan, what="the collector has let go of the Secret", seconds=COLLECTOR_SECONDS)
    await stage.create(BUNDLE_DEPLOYMENTS, "", {**former, "metadata": {"name": stage.name}, "status": {}})
    found = await stage.until_ready(stage.name)
    secret = await stage.get(SECRETS, stage.namespace, SECRET)
    assert [owner["uid"] for owner in secret["metadata"]["ownerReferences"]] == [found["metadata"]["uid"]]
    now = await trust(stage)
    assert now != before
    assert before.strip() in now
    assert await bundles_in_place(stage) == {now}


async def test_installed_version_is_kept_while_a_foreign_secret_is_in_the_way(stage: Stage) -> None:
    await installed(stage)
    await stage.create(SECRETS, stage.namespace, {"metadata": {"name": SECRET}, "stringData": {"tls.crt": "theirs"}})
    await stage.edit_template(
        stage.name, await registry_source(stage, webhooks=[validating(stage)], version="1.1.0", name="next")
    )
    text = f"Secret {stage.namespace}/{SECRET} exists and was not made for this BundleDeployment"
    await stage.until_deployment(stage.name, says("Installed", "False", "UpgradeFailed", text))
    await stage.client.delete(DEPLOYMENTS, stage.namespace, "controller")

    async def is_back() -> bool:
        return await stage.exists(DEPLOYMENTS, stage.namespace, "controller")

    await eventually(is_back, what="the installed version is corrected")
    assert not await configurations(stage)


async def test_cert_manager_is_left_to_its_work(stage: Stage) -> None:
    """Its kinds are missing here, which blocks the install; nothing of ours is made."""
    source = await registry_source(stage, webhooks=[validating(stage)])
    config = {"certificates": "cert-manager"}
    await deploy(stage, source, installNamespace=stage.namespace, config=config)
    missing = 'no matches for kind "Issuer"'
    await stage.until_deployment(stage.name, says("Installed", "False", "InstallFailed", missing))
    assert not await stage.exists(SECRETS, stage.namespace, SECRET)


async def test_uninstalling_takes_the_secret_along(stage: Stage) -> None:
    await installed(stage, validating(stage))
    await stage.run_kubectl("delete", "bundledeployment", stage.name, "--wait=false")
    await stage.until_gone(SECRETS, stage.namespace, SECRET)
