"""A well-known custom resource is awaited by what its controller reports, for as long as the spec says."""

import json
from typing import Any

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import Resource
from tests.integration.scenarios.events import until_told
from tests.integration.scenarios.stage import Stage, says
from tests.manifests import crd, manifest

GROUP = "bitnami.com"  # no controller of it runs here
SEALED = Resource(gvk=GroupVersionKind(GROUP, "v1", "SealedSecret"), plural="sealedsecrets", namespaced=True)


async def test_unhealthy_resource_is_progress_for_the_time_of_the_spec_and_says_why(stage: Stage) -> None:
    content = await stage.content(
        crd(GROUP, kind="SealedSecret"), manifest(f"{GROUP}/v1", "SealedSecret", "login", stage.namespace)
    )
    name = await stage.deploy(content, wait={"timeout": "1h"})
    login = f"SealedSecret.{GROUP}/{stage.namespace}/login"
    missing = "the condition Synced is not reported yet"
    found = await stage.until_deployment(name, says("Ready", "Unknown", "Unhealthy", f"{login}: {missing}"))
    assert says("Healthy", "False", "Unhealthy", f"{login}: object InProgress: {missing}")(found)

    await stage.edit(name, wait={"timeout": "1s"})
    await stage.until_deployment(name, says("Ready", "Unknown", "StillUnhealthy", f"{login}: {missing}"))
    await until_told(stage, name, "Unhealthy", f"Warning: {login}: {missing}")

    await report(stage, status="False", reason="ErrUnsealFailed", message="no key could\n\tdecrypt it")
    told = "Synced is False: ErrUnsealFailed: no key could decrypt it"
    line = f"{login}: object InProgress: {told}"
    found = await stage.until_deployment(name, says("Healthy", "False", "Unhealthy", line))
    assert says("Ready", "Unknown", "StillUnhealthy", f"{login}: {told}")(found)

    await report(stage, status="True")
    await stage.until_ready(name)


async def report(stage: Stage, **condition: Any) -> None:
    """As the controller would."""
    body = json.dumps({"status": {"conditions": [{"type": "Synced", **condition}]}}).encode()
    await stage.client.patch(SEALED, stage.namespace, "login", body)
