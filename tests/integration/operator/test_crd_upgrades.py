"""A CRD that gets a new version or field, and in the same bundle an instance that uses it."""

import pytest

from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.kinds import instance, things
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.proxy import Proxy
from tests.manifests import crd, strings

UPGRADES = 6
HASTY = "tests.integration.operator.hasty"


async def test_no_upgrade_to_a_new_version_of_a_crd_ever_says_that_it_failed(
    tenant: Tenant, operators: StartOperator, proxy: Proxy
) -> None:
    """The server knows the new version and its URL a moment after the CRD: no condition tells of that."""
    operator = operators(kubeconfig=proxy.kubeconfig)
    await operator.start()
    for number in range(UPGRADES):
        name = f"{tenant.name}-{number}"
        group = f"{name}.rukpak.test"
        old = crd(group, "v1", schema=strings("a")), instance(group, "v1", "one", tenant.namespace, a="x")
        new = crd(group, "v1", "v2", schema=strings("a", "b")), instance(group, "v2", "one", tenant.namespace, b="y")
        await tenant.publish(f"old-{number}", old)
        await tenant.publish(f"new-{number}", new)
        await tenant.deploy(f"old-{number}", name=name)
        await tenant.ready(name=name)
        seen = len(proxy.seen)
        await tenant.deploy(f"new-{number}", name=name)
        await tenant.ready(name=name)
        assert (await tenant.read(things(group, "v2"), tenant.namespace, "one"))["spec"] == {"b": "y"}
        written = [one.document["status"] for one in proxy.seen[seen:] if one.name == name and one.subresource]
        conditions = [condition({"status": status}, "Installed") for status in written]
        assert not [one for one in conditions if one.get("status") == "False"]
        assert not [status for status in written if "page not found" in str(status)]


@pytest.mark.parametrize("is_upgrade", [False, True], ids=["first install", "upgrade"])
async def test_a_field_that_the_schema_of_a_custom_resource_never_gets_is_refused_at_last(
    tenant: Tenant, operators: StartOperator, *, is_upgrade: bool
) -> None:
    operator = operators(module=HASTY)
    await operator.start()
    group = f"{tenant.name}.rukpak.test"
    definition = crd(group, "v1", schema=strings("a"))
    if is_upgrade:
        await tenant.publish("v1", [definition, instance(group, "v1", "one", tenant.namespace, a="x")])
        await tenant.deploy("v1")
        await tenant.ready()
    await tenant.publish("v2", [definition, instance(group, "v1", "one", tenant.namespace, nonsense="x")])
    await tenant.deploy("v2")
    told = await tenant.until(
        lambda one: ".spec.nonsense: field not declared in schema" in condition(one, "Installed").get("message", ""),
        what="it is refused",
    )
    assert condition(told, "Installed")["status"] == "False"
    if is_upgrade:
        assert (await tenant.read(things(group), tenant.namespace, "one"))["spec"] == {"a": "x"}
