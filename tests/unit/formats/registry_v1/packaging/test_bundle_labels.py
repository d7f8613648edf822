"""annotations.yaml and bundle.Dockerfile are, byte for byte, what opm writes."""

import pytest

from rukpak_py.content import yaml
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.registry_v1.bundle_dockerfile import Places, dockerfile
from rukpak_py.formats.registry_v1.packaging import Labels, annotations_file, differences

LABELS = Labels(media_type="registry+v1", package="demo", channels="alpha,stable", default_channel="stable")
WITHOUT_DEFAULT = Labels(media_type="plain", package="p", channels="a,b")


def test_annotations_are_sorted() -> None:
    assert annotations_file(LABELS).decode() == (
        "annotations:\n"
        "  operators.operatorframework.io.bundle.channel.default.v1: stable\n"
        "  operators.operatorframework.io.bundle.channels.v1: alpha,stable\n"
        "  operators.operatorframework.io.bundle.manifests.v1: manifests/\n"
        "  operators.operatorframework.io.bundle.mediatype.v1: registry+v1\n"
        "  operators.operatorframework.io.bundle.metadata.v1: metadata/\n"
        "  operators.operatorframework.io.bundle.package.v1: demo\n"
    )


def test_without_a_default_channel_there_is_no_annotation_of_it() -> None:
    assert annotations_file(WITHOUT_DEFAULT).decode() == (
        "annotations:\n"
        "  operators.operatorframework.io.bundle.channels.v1: a,b\n"
        "  operators.operatorframework.io.bundle.manifests.v1: manifests/\n"
        "  operators.operatorframework.io.bundle.mediatype.v1: plain\n"
        "  operators.operatorframework.io.bundle.metadata.v1: metadata/\n"
        "  operators.operatorframework.io.bundle.package.v1: p\n"
    )


@pytest.mark.parametrize(
    "text", ["true", "null", "1.5", "y", "0x1", "1e3", "~", "1_000", "2020-01-01", "12:30:00", "off"]
)
def test_label_that_looks_like_another_type_is_quoted(text: str) -> None:
    written = annotations_file(Labels(media_type="plain", package="p", channels=text))
    assert f'.channels.v1: "{text}"\n' in written.decode()


@pytest.mark.parametrize("text", ["é", "a, # x: y", "'q'", '"d"', "-", "*a", " lead", "<<", "=", "a: b"])
def test_any_text_is_read_back(text: str) -> None:
    written = annotations_file(Labels(media_type="plain", package=text, channels=text))
    annotations = yaml.load(written)["annotations"]
    assert annotations["operators.operatorframework.io.bundle.package.v1"] == text


def test_a_dockerfile_with_a_default_channel() -> None:
    written = dockerfile(LABELS, Places(manifests="demo/1.0.0", metadata="demo/metadata"), base_image="scratch")
    assert written.decode() == (
        "FROM scratch\n"
        "\n"
        "LABEL operators.operatorframework.io.bundle.mediatype.v1=registry+v1\n"
        "LABEL operators.operatorframework.io.bundle.manifests.v1=manifests/\n"
        "LABEL operators.operatorframework.io.bundle.metadata.v1=metadata/\n"
        "LABEL operators.operatorframework.io.bundle.package.v1=demo\n"
        "LABEL operators.operatorframework.io.bundle.channels.v1=alpha,stable\n"
        "LABEL operators.operatorframework.io.bundle.channel.default.v1=stable\n"
        "\n"
        "COPY demo/1.0.0 /manifests/\n"
        "COPY demo/metadata /metadata/\n"
    )


def test_a_dockerfile_without_one_has_no_line_between() -> None:
    written = dockerfile(WITHOUT_DEFAULT, Places(manifests=".", metadata="../metadata"), base_image="quay.io/x:y")
    assert written.decode() == (
        "FROM quay.io/x:y\n"
        "\n"
        "LABEL operators.operatorframework.io.bundle.mediatype.v1=plain\n"
        "LABEL operators.operatorframework.io.bundle.manifests.v1=manifests/\n"
        "LABEL operators.operatorframework.io.bundle.metadata.v1=metadata/\n"
        "LABEL operators.operatorframework.io.bundle.package.v1=p\n"
        "LABEL operators.operatorframework.io.bundle.channels.v1=a,b\n"
        "COPY . /manifests/\n"
        "COPY ../metadata /metadata/\n"
    )


@pytest.mark.parametrize("text", ["p\nRUN x", "a\rb", "a\x00", "a\u2028b", "a\\"])
def test_no_text_makes_a_line_of_its_own(text: str) -> None:
    with pytest.raises(ContentError, match="cannot stand in a Dockerfile"):
        Labels(media_type="plain", package=text, channels="a")
    with pytest.raises(ContentError, match="base image"):
        dockerfile(LABELS, Places(manifests="m", metadata="n"), base_image=text)


PREFIX = "operators.operatorframework.io.bundle."


def test_more_annotations_are_no_difference() -> None:
    assert differences({**LABELS.values(), "more": "x"}, LABELS) == ""
    assert differences(LABELS.values(), WITHOUT_DEFAULT) != ""


def test_one_difference_is_told_alone() -> None:
    found = LABELS.values() | {f"{PREFIX}package.v1": "p"}
    assert differences(found, LABELS) == f'Expect field "{PREFIX}package.v1" to have value "demo" instead of "p"'
    del found[f"{PREFIX}package.v1"]
    assert differences(found, LABELS) == f"Missing field: {PREFIX}package.v1"


def test_several_differences_are_a_list() -> None:
    found = {f"{PREFIX}channels.v1": "c"}
    assert differences(found, WITHOUT_DEFAULT) == (
        f"[Missing field: {PREFIX}mediatype.v1, Missing field: {PREFIX}manifests.v1, "
        f"Missing field: {PREFIX}metadata.v1, Missing field: {PREFIX}package.v1, "
        f'Expect field "{PREFIX}channels.v1" to have value "a,b" instead of "c"]'
    )
