"""Servers with certificates of a private authority."""

import ssl
from pathlib import Path

import pytest

from rukpak_py.core.errors import ContentError, UnavailableError
from tests.unit.sources.websites import FILES, Reader, Site, authority, website

FAILED = "http request for bundle content failed: "


async def test_certificate_of_a_private_authority_is_trusted(tmp_path: Path) -> None:
    ours = authority(tmp_path)
    async with website(ours.server("127.0.0.1")) as site:
        assert dict((await Reader().fetch(site.url("/demo.tgz"), ca_bundle=ours.pem)).tree) == FILES


async def test_certificate_in_the_bundle_is_trusted_itself(tmp_path: Path) -> None:
    """Go does the same: the end of a chain may be any certificate of the bundle."""
    server = authority(tmp_path).server("127.0.0.1")
    serving = (tmp_path / "serving.pem").read_text().partition("-----BEGIN PRIVATE")[0]
    async with website(server) as site:
        await Reader().fetch(site.url("/demo.tgz"), ca_bundle=serving)


async def test_certificate_of_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    other = authority(tmp_path).pem
    async with website(authority(tmp_path).server("127.0.0.1")) as site:
        url = site.url("/demo.tgz")
        for bundle in ("", other):
            text = await Reader().refusal(url, UnavailableError, ca_bundle=bundle)
            assert text.startswith(f"GET {url}: {FAILED}the certificate of 127.0.0.1:{site.port} is not trusted: ")
            assert text.endswith("; caBundle of the source is for private authorities")
    assert not site.asked


async def test_a_certificate_for_another_name(tmp_path: Path) -> None:
    ours = authority(tmp_path)
    async with website(ours.server("files.example.com")) as site:
        text = await Reader().refusal(site.url("/demo.tgz"), UnavailableError, ca_bundle=ours.pem)
    assert "is not trusted: IP address mismatch, certificate is not valid for '127.0.0.1'" in text
    assert not text.endswith("authorities")


async def test_no_verification_when_asked_for(tmp_path: Path) -> None:
    async with website(authority(tmp_path).server("files.example.com")) as site:
        await Reader().fetch(site.url("/demo.tgz"), insecure=True)


async def test_a_bundle_without_a_certificate(site: Site) -> None:
    bundle = "-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----"
    text = await Reader().refusal(site.url("/demo.tgz"), ContentError, ca_bundle=bundle)
    assert text == "caBundle holds no certificate in PEM, or one that cannot be read"
    assert not site.asked


async def test_server_without_tls_is_told(site: Site) -> None:
    url = site.url("/demo.tgz").replace("http:", "https:")
    text = await Reader().refusal(url, UnavailableError)
    assert text.startswith(f"GET {url}: {FAILED}127.0.0.1:{site.port} does not speak a supported version of TLS")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_supported_version_of_tls_is_spoken(tmp_path: Path, version: ssl.TLSVersion) -> None:
    ours = authority(tmp_path)
    server = ours.server("127.0.0.1")
    server.minimum_version = server.maximum_version = version
    async with website(server) as site:
        await Reader().fetch(site.url("/demo.tgz"), ca_bundle=ours.pem)
