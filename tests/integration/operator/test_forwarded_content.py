"""Several replicas: the leader answers requests for content and uploads, wherever they arrive."""

import asyncio
import uuid

from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.ports import free_ports
from rukpak_py.server.forwarding import FORWARDED
from tests.integration.content_clients import Caller
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.integration.operator.uploading import accounts, archive, in_phase, upload_bundle
from tests.manifests import config_map
from tests.waiting import eventually


def replica(operators: StartOperator, address: str, port: int, *more: str) -> Operator:
    """A pod with an address of its own; the port is the same in all of them."""
    return operators(
        arguments=["--leader-elect", f"--http-bind-address={address}:{port}", *more],
        environment={"POD_NAME": f"core-{uuid.uuid4().hex[:5]}", "POD_IP": address},
    )


async def leads(operator: Operator) -> bool:
    return await operator.metric("rukpak_leader") == 1


async def reviews(operator: Operator) -> int:
    found = await operator.requests()
    return sum(n for one, n in found.items() if one.resource in {"tokenreviews", "subjectaccessreviews"})


async def test_followers_forward_the_page(plane: ControlPlane, tenant: Tenant, operators: StartOperator) -> None:
    port = free_ports(["http"], "127.0.0.1")["http"]
    first, second = (replica(operators, f"127.0.0.{number}", port, "--page") for number in (2, 3))
    await first.start()
    await eventually(lambda: leads(first), what="the first leads")
    await second.start()
    known = accounts(plane, tenant, first)
    reader, stranger = await known.caller("page-reader"), await known.caller("page-stranger")
    rule = {"apiGroups": ["core.rukpak.io"], "resources": ["bundledeployments", "bundles"], "verbs": ["get", "list"]}
    await known.grant("page-reader", "viewer", [rule])
    reader.url = stranger.url = f"https://127.0.0.3:{port}"
    await tenant.publish("one", [config_map("a", tenant.namespace)])
    await tenant.deploy("one")
    await tenant.ready()

    answer = await reader.ask("GET", f"/ui/deployments/{tenant.name}")
    assert (answer.status, tenant.name in answer.text) == (200, True)
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert (await stranger.ask("GET", "/ui/")).status == 403
    assert await second.metric("rukpak_content_forwarded_connections_total", result="forwarded") >= 2

    first.kill()
    answer = await reader.ask("GET", "/ui/")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")


async def test_followers_forward_content_and_uploads(
    plane: ControlPlane, tenant: Tenant, operators: StartOperator
) -> None:
    port = free_ports(["http"], "127.0.0.1")["http"]
    first, second = replica(operators, "127.0.0.2", port), replica(operators, "127.0.0.3", port)
    await first.start()
    await eventually(lambda: leads(first), what="the first leads")
    await second.start()
    known = accounts(plane, tenant, first)
    by_certificate = await known.admin()
    by_certificate.url = f"https://127.0.0.3:{port}"
    by_token = await known.caller("reader", "bundle-reader", url=by_certificate.url)
    unauthenticated = Caller(url=by_certificate.url, tls=by_token.tls, token="nothing")
    async with upload_bundle(tenant) as name:
        await in_phase(tenant, "Pending")
        assert (await by_certificate.put(name, archive(tenant))).status == 201
        await in_phase(tenant, "Unpacked")
        answers = await asyncio.gather(*(by_token.get(name, Range="bytes=0-9") for _ in range(4)))
        assert {answer.status for answer in answers} == {206}
        assert (await unauthenticated.get(name)).status == 401
        assert await reviews(second) == 0, "credentials are the leader's business"
        assert await second.metric("rukpak_content_forwarded_connections_total", result="forwarded") >= 6

        assert await status_of_a_forwarded_request(by_token, "127.0.0.3", port) == 503, "it is not forwarded again"
        assert await status_of_a_forwarded_request(by_token, "127.0.0.2", port) == 404

        first.kill()
        answer = await by_token.get(name)
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        assert "does not lead" in answer.text


async def status_of_a_forwarded_request(caller: Caller, address: str, port: int) -> int:
    """The status of a request that is sent as one replica forwards it to the other."""
    reader, writer = await asyncio.open_connection(address, port)
    writer.write(FORWARDED)
    await writer.start_tls(caller.tls, server_hostname="localhost")
    request = f"GET /bundles/missing.tgz HTTP/1.1\r\nHost: core\r\nAuthorization: Bearer {caller.token}\r\n\r\n"
    writer.write(request.encode())
    line = await reader.readline()
    writer.close()
    return int(line.split()[1])
