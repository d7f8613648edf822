"""The end of the log of a container: asked of the API server, which asks the kubelet of the node, here a web site.

On the control plane of the worker: an API server with a node trusts the certificate of that node's kubelet alone.
"""

import uuid
from pathlib import Path

import orjson
import pytest
from yarl import URL

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.diagnosis.logs import LOG_BYTES, LOG_LINES, read_log
from rukpak_py.diagnosis.model import FailedContainer
from rukpak_py.kube.errors import ForbiddenError
from rukpak_py.kube.resources import PODS, Resource
from tests.integration.operator.tenant import Tenant
from tests.manifests import manifest
from tests.unit.sources.websites import authority, website

NODES = Resource(gvk=GroupVersionKind("", "v1", "Node"), plural="nodes", namespaced=False)


async def test_log_is_that_of_the_run_that_has_ended(tenant: Tenant, tmp_path: Path) -> None:
    client, namespace = tenant.admin, tenant.namespace
    name = f"logs-{uuid.uuid4().hex[:8]}"
    async with website(authority(tmp_path).server("127.0.0.1")) as kubelet:
        path = f"/containerLogs/{namespace}/{name}/web"
        kubelet.gives(path, "\n".join(f"line {number}" for number in range(30)).encode() + b"\n\xff" + b"x" * 1_000)
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}},
        }
        node = manifest("v1", "Node", name, spec={"unschedulable": True})
        await client.create(NODES, "", orjson.dumps(node))
        try:
            await client.patch_status(NODES, "", name, orjson.dumps({"status": status}))
            spec = {"nodeName": name, "containers": [{"name": "web", "image": "none"}]}
            await client.create(PODS, namespace, orjson.dumps(manifest("v1", "Pod", name, namespace, spec=spec)))
            failed = FailedContainer(
                namespace=namespace, pod=name, name="web", reason="CrashLoopBackOff", has_ended=True
            )
            found = await read_log(client, failed)
            with pytest.raises(ForbiddenError):
                await read_log(client.acting_as(f"system:serviceaccount:{namespace}:default"), failed)
        finally:
            await client.delete(NODES, "", name)
    assert found.is_previous
    assert len(found.lines) == LOG_LINES
    assert found.lines[-2] == "line 29"
    assert len(found.lines[-1]) == 500
    assert found.lines[-1].startswith("\N{REPLACEMENT CHARACTER}x")
    (asked,) = (URL(one.path) for one in kubelet.asked)
    assert (asked.path, dict(asked.query)) == (
        path,
        {"tailLines": str(LOG_LINES), "limitBytes": str(LOG_BYTES), "previous": "true"},
    )
