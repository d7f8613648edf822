"""C19: no source reaches the API server, whatever it is called."""

from ipaddress import ip_network
from typing import Any

import pytest

from rukpak_py.controllers.api_server_addresses import ApiServerAddresses
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.errors import ErrorAnswer, NotFoundError, ServerUnavailableError
from rukpak_py.sources.addresses import AddressPolicy

REFUSAL = ErrorAnswer(subject="test", status=404, message="not found")
POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}


class Server:
    server = "https://127.0.0.1:6443"

    def __init__(self, answer: dict[str, Any] | Exception) -> None:
        self.answer = answer

    async def get(self, _resource: object, namespace: str, name: str) -> bytes:
        assert (namespace, name) == ("default", "kubernetes")
        if isinstance(self.answer, Exception):
            raise self.answer
        return canonical_json(self.answer)


def endpoints(*addresses: str, port: int = 6443) -> dict[str, Any]:
    return {"endpoints": [{"addresses": [address]} for address in addresses], "ports": [{"port": port}]}


async def known(*answers: dict[str, Any] | Exception) -> set[tuple[str, int]]:
    client: Any = Server({})
    addresses = ApiServerAddresses(client, POD)
    for client.answer in answers:
        await addresses.refresh()
    return addresses.known


async def test_c19_the_api_server_by_all_its_names() -> None:
    found = await known(endpoints("192.0.2.1", "2001:DB8::1"))
    assert found == {("127.0.0.1", 6443), ("10.96.0.1", 443), ("192.0.2.1", 6443), ("2001:db8::1", 6443)}
    policy = AddressPolicy(allowed=(ip_network("0.0.0.0/0"),), api_servers=found)
    for host, port, address in (
        ("kubernetes.default.svc", 443, "10.96.0.1"),
        ("harmless.example", 443, "::ffff:10.96.0.1"),
        ("node.example", 6443, "192.0.2.1"),
        ("node.example", 6443, "2001:db8:0::1"),
    ):
        with pytest.raises(ContentError, match="is the API server"):
            policy.usable(host, port, [address])
    assert policy.usable("node.example", 443, ["192.0.2.1"]) == ("192.0.2.1",)


async def test_a_policy_learns_of_replicas_that_come() -> None:
    client: Any = Server(endpoints("192.0.2.1"))
    addresses = ApiServerAddresses(client, {})
    policy = AddressPolicy(api_servers=addresses.known)
    assert policy.usable("a.example", 6443, ["192.0.2.1"])
    await addresses.refresh()
    with pytest.raises(ContentError, match="is the API server"):
        policy.usable("a.example", 6443, ["192.0.2.1"])


async def test_known_addresses_stay_when_there_is_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    before = await known(endpoints("192.0.2.1"))
    assert await known(endpoints("192.0.2.1"), endpoints("192.0.2.1"), NotFoundError(REFUSAL), {}) == before
    assert caplog.records == []
    assert await known(endpoints("192.0.2.1"), ServerUnavailableError(REFUSAL), endpoints("nonsense")) == before
    assert len(caplog.records) == 2
