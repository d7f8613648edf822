"""The version of what is installed: by the content, by what the status says of it, or by its source."""

from typing import Any

import pytest

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, InstalledContent
from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS
from rukpak_py.api.reading import read_bundle
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.history import content_of, source_version, version_of
from rukpak_py.controllers.deployment.state_parts import ContentFacts
from rukpak_py.formats.format import ContentDescription
from tests.unit.controllers.deployment.parts import attempt
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, deployment

CHART = InstalledContent(name="web", version="1.2.3", app_version="9")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def bundle(kind: str, source: dict[str, Any], resolved: dict[str, Any] | None = None) -> Bundle:
    status = {"resolvedSource": {"type": kind, kind: resolved}} if resolved is not None else {}
    body = {"spec": {"provisionerClassName": "x", "source": {"type": kind, kind: source}}, "status": status}
    return read_bundle(body)


def git(ref: dict[str, str]) -> Bundle:
    repository = "https://example.com/x"
    return bundle("git", {"repository": repository, "ref": ref}, {"repository": repository, "ref": {"commit": COMMIT}})


@pytest.mark.parametrize(
    ("of", "version"),
    [
        (bundle("image", {"ref": "registry.example.com:5000/shop/web:v1.2.3"}), "v1.2.3"),
        (bundle("image", {"ref": "web:v1@sha256:0"}), "v1"),
        (bundle("image", {"ref": "registry.example.com:5000/shop/web"}), ""),
        (bundle("image", {"ref": f"web:{'1' * 128}"}), "1" * 63),
        (git({"tag": "v2"}), "v2"),
        (git({"branch": "main"}), "0123456789ab"),
        (git({"commit": "0123"}), "0123456789ab"),
        (bundle("http", {"url": "https://example.com/v1.tgz"}), ""),
    ],
    ids=["tag", "tag and digest", "port and no tag", "long tag", "git tag", "branch", "commit", "archive"],
)
def test_the_version_of_a_source_is_its_tag_or_commit(of: Bundle, version: str) -> None:
    assert source_version(of) == version


def of_image(provisioner: str, status: BundleDeploymentStatus | None = None, *, digest: str = DIGEST) -> Attempt:
    source = {"type": "image", "image": {"ref": "web:v1"}}
    body = {
        "metadata": {"name": "b"},
        "spec": {"provisionerClassName": provisioner, "source": source},
        "status": {"digest": digest, "phase": "Unpacked"},
    }
    return attempt(of=deployment(status=status, provisioner=provisioner), bundle=read_bundle(body))


def test_content_that_was_rendered_says_it() -> None:
    one = of_image(HELM_CLASS)
    one.state.rendered(
        one.content, ContentFacts(description=ContentDescription(name="web", version="1.2.3", app_version="9"))
    )
    assert (content_of(one), version_of(one)) == (CHART, "1.2.3")


def test_a_description_of_content_is_cut_to_what_a_status_takes() -> None:
    one = of_image(HELM_CLASS)
    described = ContentDescription(name="n" * 300, version="v" * 300, app_version="a" * 300, package="p" * 300)
    one.state.rendered(one.content, ContentFacts(description=described))
    found = content_of(one)
    assert found is not None
    assert [len(text) for text in (found.name, found.version, found.app_version, found.package)] == [253, 63, 63, 253]


def test_a_version_that_an_earlier_process_rendered_is_as_the_status_says() -> None:
    status = BundleDeploymentStatus(active_bundle="b", digest=DIGEST, version="1.2.3", content=CHART)
    assert version_of(of_image(HELM_CLASS, status)) == "1.2.3"
    assert version_of(of_image(HELM_CLASS, status, digest=OTHER_DIGEST)) == "", "it is about other content"


def test_a_chart_has_no_version_of_its_source() -> None:
    assert version_of(of_image(HELM_CLASS)) == ""


def test_plain_content_has_the_version_of_its_source() -> None:
    assert version_of(of_image(PLAIN_CLASS)) == "v1"
