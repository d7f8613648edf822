"""Content that a client uploads, as the operator sees it."""

import asyncio
import gzip
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from rukpak_py.content.tar import read_archive
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES
from tests.integration.content_clients import Accounts, Caller
from tests.integration.scenarios.stage import Document, Stage, phase, says, settings
from tests.manifests import source
from tests.unit.sources.websites import tgz
from tests.waiting import eventually

UPLOAD: Document = {"type": "upload", "upload": {}}
WAITING = says("Unpacked", "False", "UnpackPending", "waiting for bundle to be uploaded")
MIB = 1024 * 1024
SAMPLES = Path(__file__).parents[3] / "manifests" / "samples"


@pytest.fixture
def accounts(stage: Stage) -> Accounts:
    return Accounts(kubectl=stage.kubectl, namespace=stage.namespace, url=stage.operator.content)


@pytest.fixture
async def uploader(accounts: Accounts) -> Caller:
    return await accounts.caller("uploader", "bundle-uploader")


def archive(stage: Stage, value: str = "value") -> bytes:
    return tgz({"manifests/settings.yaml": yaml.safe_dump(settings(stage.namespace, key=value)).encode()})


def stored(stage: Stage) -> list[Path]:
    return list(stage.operator.uploads.glob(f"{stage.name}_*"))


async def waiting_bundle(stage: Stage) -> str:
    name = await stage.bundle(UPLOAD)
    await stage.until_bundle(name, phase("Pending"), WAITING, says("Reconciling", "True", "UnpackPending"))
    return name


async def test_scenario_31_upload_by_a_user_who_is_no_admin_is_unpacked(stage: Stage, uploader: Caller) -> None:
    name = await waiting_bundle(stage)
    answer = await uploader.put(name, archive(stage))
    assert (answer.status, answer.body) == (201, b"")
    text = "Successfully unpacked the upload Bundle"
    found = await stage.until_bundle(name, says("Unpacked", "True", "UnpackSuccessful", text))
    assert found["status"]["resolvedSource"] == UPLOAD
    assert found["status"]["contentURL"] == f"{stage.operator.content}/bundles/{name}.tgz"


async def test_scenario_32_an_upload_with_subdirectories(stage: Stage, uploader: Caller) -> None:
    """It may be replaced, until something was unpacked."""
    name = await waiting_bundle(stage)
    files = {"manifests/emptydir/.gitkeep": b"", "manifests/subdir/a.yaml": b"kind: A"}
    assert (await uploader.put(name, tgz(files))).status == 201
    text = (
        'subdirectories are not allowed within the "manifests" directory of the bundle image filesystem: '
        'found "manifests/emptydir"'
    )
    await stage.until_bundle(name, phase("Failing"), says("Unpacked", "False", "UnpackFailed", text))
    assert (await uploader.put(name, archive(stage))).status == 201
    await stage.until_bundle(name, phase("Unpacked"))


async def test_scenario_65_an_upload_is_installed_and_another_one_pivots(stage: Stage, uploader: Caller) -> None:
    name = await stage.deploy(UPLOAD, template={"labels": {"bundleDigest": "1"}})
    for number, value in enumerate(("one", "two"), start=1):
        if number > 1:
            template = {"spec": {"template": {"metadata": {"labels": {"bundleDigest": str(number)}}}}}
            await stage.run_kubectl("patch", "bundledeployment", name, "--type=merge", f"--patch={yaml.dump(template)}")
        bundle = await stage.wanted_bundle(name)
        await stage.until_bundle(bundle, WAITING)
        assert (await uploader.put(bundle, archive(stage, value))).status == 201
        await stage.until_deployment(
            name,
            says("HasValidBundle", "True", "UnpackSuccessful"),
            says("Installed", "True", "InstallationSucceeded", bundle),
            says("Ready", "True"),
        )
        assert (await stage.settings())["data"] == {"key": value}


async def test_the_sample_of_an_upload_works_with_the_content_beside_it(stage: Stage, uploader: Caller) -> None:
    """Its namespace and its name alone are those of the test."""
    sample = yaml.safe_load((SAMPLES / "hello-upload.yaml").read_text())
    content = (SAMPLES / "content/hello-upload/manifests/hello.yaml").read_text()
    sample["metadata"]["name"] = stage.name
    await stage.create(BUNDLE_DEPLOYMENTS, "", sample)
    bundle = await stage.wanted_bundle(stage.name)
    await stage.until_bundle(bundle, WAITING)
    body = tgz({"manifests/hello.yaml": content.replace("default", stage.namespace).encode()})
    assert (await uploader.put(bundle, body)).status == 201
    await stage.until_ready(stage.name)
    assert (await stage.settings("hello-upload"))["data"] == {"greeting": "Hello from an upload"}


async def test_scenario_67_a_deployment_says_what_is_wrong_with_an_upload(stage: Stage, uploader: Caller) -> None:
    name = await stage.deploy(UPLOAD)
    bundle = await stage.wanted_bundle(name)
    await stage.until_bundle(bundle, WAITING)
    assert (await uploader.put(bundle, b"no archive")).status == 201
    await stage.until_bundle(bundle, says("Unpacked", "False", "UnpackFailed", "gzip: invalid header"))
    await stage.until_deployment(name, says("HasValidBundle", "False", "UnpackFailed", "gzip: invalid header"))


async def test_an_upload_that_is_there_already_and_one_that_comes_too_late(stage: Stage, uploader: Caller) -> None:
    """A replayed upload changes nothing; other content is refused, however it is packed."""
    name = await waiting_bundle(stage)
    body = archive(stage)
    assert (await uploader.put(name, body)).status == 201
    before = await stage.until_bundle(name, phase("Unpacked"))
    assert (await uploader.put(name, body)).status == 204
    packed_otherwise = gzip.compress(gzip.decompress(body), compresslevel=1, mtime=7)
    assert (await uploader.put(name, packed_otherwise)).status == 204
    other = await uploader.put(name, archive(stage, "other"))
    assert (other.status, other.text) == (
        409,
        "bundle has already been unpacked, cannot change content of existing bundle\n",
    )
    assert (await uploader.put(name, b"no archive")).status == 409
    assert (await stage.get(BUNDLES, "", name))["status"] == before["status"]


async def test_wrong_uploads_are_refused_and_not_stored(stage: Stage, uploader: Caller, accounts: Accounts) -> None:
    missing = await uploader.put(stage.name, archive(stage))
    assert (missing.status, missing.text) == (404, f'bundles.core.rukpak.io "{stage.name}" not found\n')
    await stage.bundle(source("none"))
    wrong = await uploader.put(stage.name, archive(stage))
    assert (wrong.status, wrong.text) == (409, 'bundle source type is "configMaps"; expected "upload"\n')
    admin = await accounts.admin()
    assert (await admin.ask("POST", f"/uploads/{stage.name}.tgz", b"")).status == 405
    for path in ("/uploads/", "/uploads/..%2fx.tgz", "/uploads/UPPER.tgz", "/other"):
        assert (await admin.ask("PUT", path, b"")).status in {404, 405}
    assert not stored(stage)


async def test_upload_without_end_is_refused(stage: Stage, uploader: Caller) -> None:
    """The length that a client declares, or does not declare, makes no difference."""
    name = await waiting_bundle(stage)

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(MIB)

    answer = await uploader.ask("PUT", f"/uploads/{name}.tgz", endless())
    assert answer.status == 413
    assert "the size of the archive exceeds the limit of 64 MiB" in answer.text
    async with uploader.half_an_upload(name, b"12"):
        pass
    await stage.barrier()
    assert not stored(stage)
    await stage.until_bundle(name, WAITING)


async def test_last_of_the_concurrent_uploads_is_served(stage: Stage, uploader: Caller) -> None:
    """The upload that was stored last is served in the end, and its client got 201."""
    name = await waiting_bundle(stage)
    bodies = [archive(stage, str(number)) for number in range(8)]
    answers = await asyncio.gather(*(uploader.put(name, body) for body in bodies))
    found = await stage.until_bundle(name, phase("Unpacked"))
    assert {answer.status for answer in answers} <= {201, 409}
    (path,) = stored(stage)
    digests = [read_archive([body]).digest for body in bodies]
    winner = bodies.index(path.read_bytes())
    assert found["status"]["digest"] == digests[winner]
    assert answers[winner].status == 201


async def test_an_upload_goes_with_its_bundle_and_nothing_else_does(stage: Stage, uploader: Caller) -> None:
    """A Bundle of the same name gets nothing of it, and strangers' files stay."""
    name = await waiting_bundle(stage)
    assert (await uploader.put(name, archive(stage))).status == 201
    await stage.until_bundle(name, phase("Unpacked"))
    strangers = [stage.operator.uploads / f"{stage.name}{ending}" for ending in (".tgz", ".txt", "-.tmp-1")]
    for path in strangers:
        path.write_text("of no interest")
    (former,) = stored(stage)
    await stage.client.delete(BUNDLES, "", name)
    await stage.until_gone(BUNDLES, "", name)
    link = stage.operator.storage / f"{name}.tgz"
    await eventually(lambda: _is_gone(link), what="nothing is served under its name")
    await waiting_bundle(stage)
    assert (await uploader.put(name, archive(stage, "other"))).status == 201
    await stage.until_bundle(name, phase("Unpacked"))
    await eventually(lambda: _is_gone(former), what="the former upload is gone")
    assert len(stored(stage)) == 1
    assert all(path.exists() for path in strangers)


async def _is_gone(path: Path) -> bool:
    return not os.path.lexists(path)  # noqa: ASYNC240 - it takes no time
