"""Objects of our own kinds that nest as deeply as the API server allows."""

import orjson

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.manifests import config_map, deployment, source

DEPTH = 5_000


async def test_an_object_nested_thousands_of_levels_deep_is_left_out_and_ends_nothing(
    tenant: Tenant, operator: Operator
) -> None:
    await tenant.publish("good", [config_map("one", tenant.namespace)])
    deep = f"{tenant.name}-deep"
    tenant.sees_to(deep)
    body = orjson.dumps(deployment(deep, source("good"), config="here"))
    nested = b'{"a":' * DEPTH + b"{}" + b"}" * DEPTH

    await tenant.admin.create(BUNDLE_DEPLOYMENTS, "", body.replace(b'"here"', nested))
    await tenant.deploy("good")
    await tenant.ready()  # the watch has gone on
    await operator.stop()
    await operator.start()  # now it is listed
    await tenant.publish("after", [config_map("two", tenant.namespace)])
    await tenant.deploy("after")
    await tenant.ready()

    assert f"the spec of {deep} is nested more than 400 levels deep" in operator.log
    assert operator.starts == 2
