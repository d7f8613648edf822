"""Upgrades that wait, of a tenant: content with a version, what stands in the status, and its end."""

from typing import Any

import orjson

from rukpak_py.api.names import APPROVED_ANNOTATION
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map
from tests.waiting import eventually

MANUAL = {"approval": "Manual"}
WHEN_SAFE = {"approval": "WhenSafe"}
NEVER = {"windows": [{"start": "0 0 30 2 *", "duration": "1h"}]}  # the thirtieth of February


async def publish(tenant: Tenant, version: str, *more: Document) -> None:
    await tenant.publish(version, [config_map("a", tenant.namespace, version=version), *more])


async def annotate(tenant: Tenant, value: str | None) -> None:
    body = orjson.dumps({"metadata": {"annotations": {APPROVED_ANNOTATION: value}}})
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, body)


async def installed(tenant: Tenant) -> str:
    found = await tenant.read(CONFIG_MAPS, tenant.namespace, "a")
    return str(found["data"]["version"])


def pending(deployment: Document) -> Document:
    found: Document = deployment["status"].get("pendingUpgrade") or {}
    return found


async def waits(tenant: Tenant, *, reason: str = "NotApproved", than: str = "") -> Document:
    """The deployment once an upgrade waits, with another plan `than`."""

    def does(deployment: Document) -> bool:
        told = condition(deployment, "UpgradePending")
        of_now = told.get("observedGeneration") == deployment["metadata"]["generation"]
        is_about = (told.get("status"), told.get("reason")) == ("True", reason) and of_now
        return is_about and pending(deployment).get("digest", than) != than

    return await tenant.until(does, what=f"an upgrade waits: {reason}")


async def upgraded(tenant: Tenant, version: str) -> Document:
    async def is_there() -> bool:
        return await installed(tenant) == version

    await eventually(is_there, what=f"{version} is installed", seconds=30)

    def is_over(deployment: Document) -> bool:
        of = condition(deployment, "UpgradePending")
        status = deployment["status"]
        over = "pendingUpgrade" not in status and "upgrade" not in status
        return over and of.get("status") == "False" and condition(deployment, "Ready").get("status") == "True"

    return await tenant.until(is_over, what="the upgrade is over")


async def begun(tenant: Tenant, upgrades: Document, **spec: Any) -> None:
    """Version one is installed, and version two is wanted."""
    await publish(tenant, "one")
    await publish(tenant, "two", config_map("b", tenant.namespace, new="yes"))
    await tenant.deploy("one", upgrades=upgrades, **spec)
    await tenant.ready()
    await tenant.deploy("two", upgrades=upgrades, **spec)
