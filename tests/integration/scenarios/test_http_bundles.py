"""Bundles whose content is on a web server."""

import hashlib
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from rukpak_py.kube.resources import BUNDLES, SECRETS
from tests.integration.scenarios.stage import SYSTEM, Document, Stage, phase, says, settings
from tests.unit.sources.websites import Authority, Site, authority, tgz, website

USER, PASSWORD = "ann", "c4n4ry-of-the-http-source"


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return authority(tmp_path)


@pytest.fixture
async def site(ours: Authority) -> AsyncIterator[Site]:
    """A web server with a certificate of a private authority."""
    async with website(ours.server("127.0.0.1")) as site:
        yield site


def archive(stage: Stage) -> bytes:
    manifest = yaml.safe_dump(settings(stage.namespace)).encode()
    return tgz({"manifests/settings.yaml": manifest, "README.md": b"Of no interest"})


def source(url: str, ours: Authority, **more: Any) -> Document:
    return {"type": "http", "http": {"url": url, "caBundle": ours.pem, **more}}


def failed(*texts: str) -> Any:
    return says("Unpacked", "False", "UnpackFailed", *texts)


def guarded(site: Site, path: str, body: bytes) -> None:
    """Serve the archive to the one user only."""
    expected = f"Basic {b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"

    async def answer(request: web.Request) -> web.Response:
        is_ann = request.headers.get("Authorization") == expected
        return web.Response(body=body) if is_ann else web.Response(status=401)

    site.answers[path] = answer


async def login(stage: Stage, password: str = PASSWORD) -> str:
    name = f"{stage.name}-login"
    body = {"metadata": {"name": name}, "stringData": {"username": USER, "password": password}}
    await stage.create(SECRETS, SYSTEM, body)
    return name


async def test_scenario_52_an_archive_is_installed(stage: Stage, site: Site, ours: Authority) -> None:
    site.gives("/bundle.tgz", archive(stage))
    name = await stage.deploy(source(site.url("/bundle.tgz"), ours))
    found = await stage.until_ready(name)
    assert says("Installed", "True", "InstallationSucceeded", "Instantiated bundle")(found)
    assert found["status"]["activeBundle"]
    assert (await stage.settings())["data"] == {"key": "value"}
    assert len(site.asked) == 1


async def test_scenario_55_a_url_that_answers_404(stage: Stage, site: Site, ours: Authority) -> None:
    url = site.url("/missing.tgz")
    name = await stage.deploy(source(url, ours))
    text = f'source bundle content: GET {url}: unexpected status "404 Not Found"'
    await stage.until_deployment(name, says("HasValidBundle", "False", "UnpackFailed", text))


async def test_scenario_56_a_url_of_a_text_file(stage: Stage, site: Site, ours: Authority) -> None:
    site.gives("/README.md", b"# No archive\n")
    name = await stage.deploy(source(site.url("/README.md"), ours))
    text = "source bundle content: gzip: invalid header"
    await stage.until_deployment(name, says("HasValidBundle", "False", "UnpackFailed", text))


async def test_unpacked_http_bundle_resolves_to_its_spec_without_certificates(
    stage: Stage, site: Site, ours: Authority
) -> None:
    site.gives("/bundle.tgz", body := archive(stage))
    content = source(site.url("/bundle.tgz"), ours, sha256=hashlib.sha256(body).hexdigest())
    name = await stage.bundle(content)
    text = "Successfully unpacked the http Bundle"
    found = await stage.until_bundle(name, says("Unpacked", "True", "UnpackSuccessful", text))
    resolved = {key: value for key, value in content["http"].items() if key != "caBundle"}
    assert found["status"]["resolvedSource"] == {"type": "http", "http": resolved}, "certificates are no news"


async def test_archive_with_another_checksum_is_a_content_error(stage: Stage, site: Site, ours: Authority) -> None:
    site.gives("/bundle.tgz", archive(stage))
    name = await stage.bundle(source(site.url("/bundle.tgz"), ours, sha256="0" * 64))
    await stage.until_bundle(name, failed("but sha256 of the source is 000"), says("Stalled", "True", "ContentError"))


async def test_archive_that_comes_later_is_unpacked(stage: Stage, site: Site, ours: Authority) -> None:
    name = await stage.bundle(source(site.url("/bundle.tgz"), ours))
    await stage.until_bundle(name, failed("404 Not Found"), says("Reconciling", "True"))
    site.gives("/bundle.tgz", archive(stage))
    await stage.until_bundle(name, phase("Unpacked"))


async def test_untrusted_authority_is_told(stage: Stage, site: Site) -> None:
    name = await stage.bundle({"type": "http", "http": {"url": site.url("/bundle.tgz")}})
    await stage.until_bundle(name, failed(f"the certificate of 127.0.0.1:{site.port} is not trusted"))


async def test_a_login_from_a_secret_and_no_trace_of_it_c18(stage: Stage, site: Site, ours: Authority) -> None:
    guarded(site, "/bundle.tgz", archive(stage))
    secret = {"secret": {"name": await login(stage)}}
    name = await stage.installed(source(site.url("/bundle.tgz"), ours, auth=secret))
    await stage.bundle(source(site.url("/missing.tgz"), ours, auth=secret))
    await stage.until_bundle(stage.name, failed("404 Not Found"))
    shown = [
        json.dumps(await stage.deployment(name)),
        *map(json.dumps, await stage.bundles_of(name)),
        json.dumps(await stage.get(BUNDLES, "", stage.name)),
        await stage.run_kubectl("get", "events", "--all-namespaces", "--output=json"),
        stage.operator.log.read_text(),
    ]
    assert all(PASSWORD not in one and b64encode(PASSWORD.encode()).decode() not in one for one in shown)


async def test_request_without_a_login_is_refused_with_advice(stage: Stage, site: Site, ours: Authority) -> None:
    guarded(site, "/bundle.tgz", archive(stage))
    name = await stage.bundle(source(site.url("/bundle.tgz"), ours))
    await stage.until_bundle(name, failed('unexpected status "401 Unauthorized": name a Secret with username'))


async def test_bundle_is_unpacked_once_its_secret_exists(stage: Stage, site: Site, ours: Authority) -> None:
    guarded(site, "/bundle.tgz", archive(stage))
    secret = {"secret": {"name": f"{stage.name}-login"}}
    name = await stage.bundle(source(site.url("/bundle.tgz"), ours, auth=secret))
    await stage.until_bundle(name, failed(f'get secret rukpak-system/{stage.name}-login: Secret "', "not found"))
    await login(stage)
    await stage.until_bundle(name, phase("Unpacked"))


async def test_a_corrected_secret_is_noticed_at_once(stage: Stage, site: Site, ours: Authority) -> None:
    """It does not wait for the five minutes after which a login that was refused is tried again."""
    guarded(site, "/bundle.tgz", archive(stage))
    secret = await login(stage, password="wrong")
    name = await stage.bundle(source(site.url("/bundle.tgz"), ours, auth={"secret": {"name": secret}}))
    await stage.until_bundle(name, failed(f'401 Unauthorized": username and password of Secret {secret} are refused'))
    assert len(site.asked) == 1
    right = json.dumps({"data": {"password": b64encode(PASSWORD.encode()).decode()}}).encode()
    await stage.client.patch(SECRETS, SYSTEM, secret, right)
    await stage.until_bundle(name, phase("Unpacked"))


async def test_the_api_server_is_not_a_source(stage: Stage) -> None:
    """Loopback addresses, which these tests allow, do not reach it either."""
    server = (
        await stage.run_kubectl("config", "view", "--minify", "-o=jsonpath={.clusters[0].cluster.server}")
    ).strip()
    skipped = {"insecureSkipVerify": True}
    name = await stage.bundle({"type": "http", "http": {"url": f"{server}/api/v1/secrets", "auth": skipped}})
    await stage.until_bundle(name, failed("is the API server of the cluster, which is not a source"))


async def test_the_metadata_service_of_a_cloud_is_not_a_source(stage: Stage, site: Site, ours: Authority) -> None:
    site.redirects("/bundle.tgz", "https://169.254.169.254/latest/meta-data/")
    name = await stage.bundle(source(site.url("/bundle.tgz"), ours))
    await stage.until_bundle(
        name, failed("169.254.169.254 is a link-local address"), says("Stalled", "True", "ContentError")
    )
