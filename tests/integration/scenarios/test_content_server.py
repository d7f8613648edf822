"""Content as the server gives it, and who may download what."""

import asyncio
import io
import ssl
import tarfile
from contextlib import suppress

import pytest

from rukpak_py.kube.resources import BUNDLES
from tests.integration.content_clients import Accounts, Caller
from tests.integration.scenarios.stage import Stage, phase, settings
from tests.shared_operator import SharedOperator
from tests.waiting import eventually


@pytest.fixture
def accounts(stage: Stage) -> Accounts:
    return Accounts(kubectl=stage.kubectl, namespace=stage.namespace, url=stage.operator.content)


@pytest.fixture
async def reader(accounts: Accounts) -> Caller:
    return await accounts.caller("reader", "bundle-reader")


async def unpacked(stage: Stage) -> str:
    name = await stage.bundle(await stage.content(settings(stage.namespace), settings(stage.namespace, "more")))
    await stage.until_bundle(name, phase("Unpacked"))
    return name


def listing(archive: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return tar.getnames()


async def test_scenario_34_content_is_downloaded_with_the_role_for_it(stage: Stage, reader: Caller) -> None:
    name = await unpacked(stage)
    status = (await stage.get(BUNDLES, "", name))["status"]
    assert status["contentURL"] == f"{reader.url}/bundles/{name}.tgz"
    answer = await reader.get(name)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/gzip"
    assert answer.headers["ETag"] == f'"{status["digest"]}"'
    assert listing(answer.body) == [".", "manifests", "manifests/objects.yaml"]
    assert (stage.operator.storage / f"{name}.tgz").read_bytes() == answer.body


async def test_ranges_and_conditional_requests_are_answered(stage: Stage, reader: Caller) -> None:
    name = await unpacked(stage)
    whole = await reader.get(name)
    tag, size = whole.headers["ETag"], len(whole.body)
    head = await reader.ask("HEAD", f"/bundles/{name}.tgz")
    assert (head.status, head.headers["Content-Length"], head.body) == (200, str(size), b"")
    part = await reader.get(name, Range="bytes=10-19")
    assert (part.status, part.body) == (206, whole.body[10:20])
    assert part.headers["Content-Range"] == f"bytes 10-19/{size}"
    other = await reader.get(name, **{"Range": "bytes=10-19", "If-Range": '"other"'})
    assert (other.status, other.body) == (200, whole.body)
    assert (await reader.get(name, **{"If-None-Match": tag})).status == 304
    assert (await reader.get(name, **{"If-None-Match": '"other"'})).status == 200
    beyond = await reader.get(name, Range=f"bytes={size}-")
    assert (beyond.status, beyond.headers["Content-Range"]) == (416, f"bytes */{size}")


async def test_missing_content_is_answered_with_its_reason(stage: Stage, reader: Caller) -> None:
    """A Bundle that does not exist, and one without content."""
    missing = await reader.get(stage.name)
    assert (missing.status, missing.text) == (404, f'bundles.core.rukpak.io "{stage.name}" not found\n')
    name = await stage.bundle({"type": "upload", "upload": {}})
    await stage.until_bundle(name, phase("Pending"))
    waiting = await reader.get(name)
    assert (waiting.status, waiting.text) == (
        404,
        f'bundle "{name}" is not unpacked: waiting for bundle to be uploaded\n',
    )


async def test_caller_without_a_valid_token_is_unauthorized_c17(
    stage: Stage, accounts: Accounts, reader: Caller
) -> None:
    name = await unpacked(stage)
    assert (await reader.get(name)).status == 200
    other_audience = await accounts.token("reader", audience="vault.example.com")
    short = "a" * 10
    strangers = [
        await accounts.without_account(token) for token in ("", "nothing", short, other_audience, reader.token[:-4])
    ]
    strangers.append(Caller(url=reader.url, tls=reader.tls, headers={"Authorization": f"Basic {short}"}))
    for stranger in strangers:
        answer = await stranger.get(name)
        assert (answer.status, answer.text) == (401, "Unauthorized\n")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert answer.headers["Connection"] == "close"


async def test_no_token_is_ever_logged_c18(stage: Stage, accounts: Accounts, reader: Caller) -> None:
    refused = await accounts.caller("refused")
    name = await unpacked(stage)
    for caller, status in ((reader, 200), (refused, 403), (await accounts.without_account("canary-of-a-token"), 401)):
        assert (await caller.get(name)).status == status
        log = stage.operator.log.read_text()
        assert not [part for part in caller.token.split(".") if part in log and len(part) > 10]


async def test_caller_without_permission_is_forbidden(stage: Stage, accounts: Accounts, reader: Caller) -> None:
    name = await unpacked(stage)
    unprivileged = await accounts.caller("nobody")
    user = f"system:serviceaccount:{stage.namespace}:"
    for path in (f"/bundles/{name}.tgz", "/bundles/missing.tgz", "/", "/metrics"):
        answer = await unprivileged.ask("GET", path)
        assert (answer.status, answer.text) == (
            403,
            f"Forbidden (user={user}nobody, verb=get, resource=, subresource=)\n",
        )
    assert (await reader.put(name, b"")).text == (
        f"Forbidden (user={user}reader, verb=update, resource=, subresource=)\n"
    )
    assert (await reader.ask("GET", f"/uploads/{name}.tgz")).status == 403
    assert (await reader.ask("GET", f"/bundles/../uploads/{name}.tgz")).status in {403, 404}


async def test_a_right_that_is_given_counts_at_once(accounts: Accounts) -> None:
    late = await accounts.caller("late")
    assert (await late.get("any")).status == 403
    await accounts.grant("late", "one-bundle", [{"nonResourceURLs": ["/bundles/any.tgz"], "verbs": ["get"]}])

    async def is_allowed() -> bool:
        return (await late.get("any")).status == 404

    await eventually(is_allowed, what="the right counts")
    assert (await late.get("other")).status == 403


async def test_client_certificate_of_the_cluster_may_read_and_not_write(stage: Stage, accounts: Accounts) -> None:
    """The credential of most administrators' kubeconfigs, which have no token."""
    name = await unpacked(stage)
    admin = await accounts.admin()
    assert listing((await admin.get(name)).body)[0] == "."
    for method in ("POST", "PATCH", "DELETE", "PUT"):
        answer = await admin.ask(method, f"/bundles/{name}.tgz", b"")
        assert (answer.status, answer.headers["Allow"]) == (405, "GET,HEAD")


async def test_the_certificate_is_verified_by_the_published_authority(shared_operator: SharedOperator) -> None:
    stranger = Caller(url=shared_operator.content, tls=ssl.create_default_context())
    with pytest.raises(OSError, match="certificate verify failed"):
        await stranger.get("any")


async def test_silent_client_loses_the_connection_and_others_are_served(stage: Stage, reader: Caller) -> None:
    """Connections without TLS, with half a request, and many of them."""
    name = await unpacked(stage)
    host, _, port = reader.url.removeprefix("https://").rpartition(":")
    silent = [await asyncio.open_connection(host, int(port)) for _ in range(20)]
    nonsense_reader, nonsense = await asyncio.open_connection(host, int(port))
    nonsense.write(b"GET / HTTP/1.1\r\n\r\n")
    with suppress(ConnectionResetError):
        assert await nonsense_reader.read() == b""
    answers = await asyncio.gather(*(reader.get(name) for _ in range(8)))
    assert {answer.status for answer in answers} == {200}
    for _, writer in (*silent, (nonsense_reader, nonsense)):
        writer.close()
