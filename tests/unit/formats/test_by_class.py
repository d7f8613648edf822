"""Which format content has follows from two classes: of the Bundle, and of the deployment that controls it."""

import pytest

from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.content.store import StoredForm
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.by_class import Classes, format_of_bundle, format_of_deployment, is_nondeterministic, served_form
from rukpak_py.formats.helm.format import HelmFormat
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
        (HELM_CLASS, HELM_CLASS, HelmFormat),
        (HELM_CLASS, PLAIN_CLASS, HelmFormat),
        (HELM_CLASS, "", HelmFormat),
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
        (HELM_CLASS, PLAIN_CLASS, f"set spec.provisionerClassName to {HELM_CLASS},"),
        (PLAIN_CLASS, HELM_CLASS, f"set spec.provisionerClassName to {PLAIN_CLASS},"),
    ],
)
def test_a_deployment_that_cannot_install_it_says_which_could(bundle: str, deployment: str, advice: str) -> None:
    with pytest.raises(ContentError) as caught:
        format_of_deployment(Classes(bundle, deployment))
    assert advice in str(caught.value)


def test_in_which_form_content_is_served() -> None:
    forms = [served_form(name) for name in (PLAIN_CLASS, REGISTRY_CLASS, HELM_CLASS)]
    assert forms == [StoredForm.ORIGINAL, StoredForm.CONVERTED, StoredForm.CONVERTED]


def test_only_charts_may_be_rendered_differently_each_time() -> None:
    classes = [
        Classes(PLAIN_CLASS, PLAIN_CLASS),
        Classes(REGISTRY_CLASS, REGISTRY_CLASS),
        Classes(HELM_CLASS, HELM_CLASS),
    ]
    assert [is_nondeterministic(one) for one in classes] == [False, False, True]
