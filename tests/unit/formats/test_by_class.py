"""Which format content has follows from two classes: of the Bundle, and of the deployment that controls it."""

import pytest

from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.content.store import Form
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.by_class import Classes, format_of_bundle, format_of_deployment, served_form
from rukpak_py.formats.plain import PlainFormat
from rukpak_py.formats.registry_v1.converted import ConvertedFormat
from rukpak_py.formats.registry_v1.format import RegistryV1Format


@pytest.mark.parametrize(
    ("bundle", "deployment", "expected"),
    [
        (PLAIN_CLASS, PLAIN_CLASS, PlainFormat),
        (PLAIN_CLASS, "", PlainFormat),
        (PLAIN_CLASS, REGISTRY_CLASS, PlainFormat),
        (REGISTRY_CLASS, REGISTRY_CLASS, RegistryV1Format),
        (REGISTRY_CLASS, PLAIN_CLASS, ConvertedFormat),
        (REGISTRY_CLASS, "", ConvertedFormat),
        (REGISTRY_CLASS, HELM_CLASS, ConvertedFormat),
    ],
)
def test_content_is_checked_for_the_deployment_that_controls_it(
    bundle: str, deployment: str, expected: type[object]
) -> None:
    assert isinstance(format_of_bundle(Classes(bundle, deployment)), expected)


def test_content_of_other_classes_is_not_ours() -> None:
    with pytest.raises(ContentError, match="'acme-io-plain' is not served"):
        format_of_bundle(Classes("acme-io-plain", PLAIN_CLASS))


@pytest.mark.parametrize(
    ("bundle", "deployment", "advice"),
    [
        (PLAIN_CLASS, REGISTRY_CLASS, f"set spec.provisionerClassName to {PLAIN_CLASS},"),
        (REGISTRY_CLASS, HELM_CLASS, f"set spec.provisionerClassName to {PLAIN_CLASS} or {REGISTRY_CLASS},"),
    ],
)
def test_a_deployment_that_cannot_install_it_says_which_could(bundle: str, deployment: str, advice: str) -> None:
    with pytest.raises(ContentError) as caught:
        format_of_deployment(Classes(bundle, deployment))
    assert advice in str(caught.value)


def test_a_registry_bundle_is_served_converted() -> None:
    assert (served_form(PLAIN_CLASS), served_form(REGISTRY_CLASS)) == (Form.ORIGINAL, Form.CONVERTED)
