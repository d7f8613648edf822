"""Uploads that are interrupted, and uploads that are lost: only a client has them."""

import asyncio
import gzip
import json
import shutil
from pathlib import Path

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.kube.resources import BUNDLES
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.uploading import admin_of, archive, in_phase, upload_bundle
from tests.waiting import eventually


def files(operator: Operator) -> list[Path]:
    return list(operator.uploads.iterdir()) if operator.uploads.is_dir() else []


async def test_a_kill_during_an_upload_and_right_after_one(
    plane: ControlPlane, tenant: Tenant, operator: Operator
) -> None:
    client = await admin_of(plane, tenant, operator)
    async with upload_bundle(tenant) as name:
        await in_phase(tenant, "Pending")
        body = gzip.compress(b"0" * 100) + bytes(1024 * 1024)
        async with client.half_an_upload(name, body):
            await eventually(lambda: _holds_something(operator), what="a part of it is on disk")
            operator.kill()
        assert [path.suffix for path in files(operator)] == [""], "nothing has the name of an upload"

        await operator.start()
        await eventually(lambda: _holds_nothing(operator), what="what the crash left is removed")
        await in_phase(tenant, "Pending")

        assert (await client.put(name, archive(tenant))).status == 201
        operator.kill()
        await operator.start()
        await in_phase(tenant, "Unpacked")
        assert len(files(operator)) == 1


async def test_a_lost_upload_and_the_same_one_again(plane: ControlPlane, tenant: Tenant, operator: Operator) -> None:
    client = await admin_of(plane, tenant, operator)
    async with upload_bundle(tenant) as name:
        body = archive(tenant)
        await in_phase(tenant, "Pending")
        assert (await client.put(name, body)).status == 201
        await in_phase(tenant, "Unpacked")
        before = await tenant.read(BUNDLES, "", name)
        content = await client.get(name)

        await operator.stop()
        shutil.rmtree(operator.store)
        await operator.start()
        again = await client.get(name)
        assert (again.status, again.body) == (200, content.body), "it is unpacked again from what was uploaded"
        assert (await tenant.read(BUNDLES, "", name))["status"] == before["status"]

        shutil.rmtree(operator.store)
        shutil.rmtree(operator.uploads)
        lost = await client.get(name)
        assert lost.status == 404
        assert "the uploaded content is lost" in lost.text
        told = await tenant.read(BUNDLES, "", name)
        assert condition(told, "Unpacked")["reason"] == "ContentLost"
        assert condition(told, "Ready")["status"] == "False"
        assert told["status"]["digest"] == before["status"]["digest"]
        assert "contentURL" not in told["status"]

        assert (await client.put(name, archive(tenant, "other"))).status == 409
        assert not files(operator)
        packed_otherwise = gzip.compress(gzip.decompress(body), compresslevel=1, mtime=7)
        assert (await client.put(name, packed_otherwise)).status == 201
        await in_phase(tenant, "Unpacked")
        assert (await client.get(name)).body == content.body
        after = await tenant.read(BUNDLES, "", name)
        assert {"contentURL", "digest"} <= after["status"].keys()
        assert after["status"]["contentURL"] == before["status"]["contentURL"]


async def test_forged_url_in_a_status_is_corrected_and_never_asked(
    plane: ControlPlane, tenant: Tenant, operator: Operator
) -> None:
    """The original sent its own token there."""
    asked: list[bytes] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(1))
        writer.close()

    async with upload_bundle(tenant) as name, await asyncio.start_server(note, "127.0.0.1", 0) as server:
        await in_phase(tenant, "Pending")
        client = await admin_of(plane, tenant, operator)
        assert (await client.put(name, archive(tenant))).status == 201
        await in_phase(tenant, "Unpacked")
        url = (await tenant.read(BUNDLES, "", name))["status"]["contentURL"]
        shutil.rmtree(operator.store)
        elsewhere = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/bundles/{name}.tgz"
        body = json.dumps({"status": {"contentURL": elsewhere}}).encode()
        await tenant.admin.patch_status(BUNDLES, "", name, body)

        async def is_corrected() -> bool:
            return bool((await tenant.read(BUNDLES, "", name))["status"]["contentURL"] == url)

        await eventually(is_corrected, what="the URL is ours again")
        assert (await client.get(name)).status == 200
    assert not asked


async def test_requests_and_bytes_are_counted(plane: ControlPlane, tenant: Tenant, operator: Operator) -> None:
    client = await admin_of(plane, tenant, operator)
    async with upload_bundle(tenant) as name:
        await in_phase(tenant, "Pending")
        body = archive(tenant)
        assert (await client.put(name, body)).status == 201
        await in_phase(tenant, "Unpacked")
        answers = await asyncio.gather(*(client.get(name) for _ in range(3)))
    requests = "rukpak_content_requests_total"
    assert await operator.metric(requests, what="uploads", method="PUT", code="201") == 1
    assert await operator.metric(requests, what="bundles", method="GET", code="200") == len(answers)
    assert await operator.metric("rukpak_content_bytes_total", direction="received") == len(body)
    sent = sum(len(answer.body) for answer in answers)
    assert await operator.metric("rukpak_content_bytes_total", direction="sent") == sent
    reviews = sum(n for one, n in (await operator.requests()).items() if one.resource == "subjectaccessreviews")
    assert reviews <= 4, "what was allowed is remembered for a moment"


async def _holds_nothing(operator: Operator) -> bool:
    return not files(operator)


async def _holds_something(operator: Operator) -> bool:
    return any(path.stat().st_size for path in files(operator))
