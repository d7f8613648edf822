"""Which namespaces may be watched, where the operator goes, and what is said when that is impossible."""

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.registry_v1.render.installation import install_namespace, target_namespaces
from tests.unit.bundles import bundle, csv_document, modes
from tests.unit.rendering import bundle_of

ALL, MULTI, OWN, SINGLE = "AllNamespaces", "MultiNamespace", "OwnNamespace", "SingleNamespace"
INSTALL = "operators"

ACCEPTED = [
    ([ALL], [""]),
    ([OWN], [INSTALL]),
    ([SINGLE], ["other"]),
    ([MULTI], ["a", "b"]),
    ([MULTI, OWN], ["a", INSTALL]),
    ([OWN, SINGLE], ["other"]),
]
REFUSED = [
    ([OWN], [""], "supported install modes [OwnNamespace] do not support targeting all namespaces"),
    ([SINGLE], [INSTALL], "supported install modes [SingleNamespace] do not support targeting own namespace"),
    ([OWN], ["other"], "supported install modes [OwnNamespace] do not support target namespaces [other]"),
    ([ALL], ["other"], "supported install modes [AllNamespaces] do not support target namespaces [other]"),
    ([MULTI], ["a", INSTALL], "supported install modes [MultiNamespace] do not support targeting own namespace"),
    (
        [SINGLE, OWN],
        ["a", "b"],
        "supported install modes [OwnNamespace SingleNamespace] do not support target namespaces [a b]",
    ),
    (
        [MULTI, ALL],
        ["", "b"],
        "supported install modes [AllNamespaces MultiNamespace] do not support target namespaces [ b]",
    ),
    (["Odd"], ["b"], "supported install modes [Odd] do not support target namespaces [b]"),
]
NOTHING_SUPPORTED_BY_DEFAULT = [
    ([MULTI], "at least one target namespace must be specified"),
    ([SINGLE], "exactly one target namespace must be specified"),
    ([], "exactly one target namespace must be specified"),
]


def targets(supported: list[str], given: list[str] | None, *, parity: bool) -> tuple[str, ...]:
    tree = bundle(csv=csv_document(installModes=modes(*supported)))
    return target_namespaces(bundle_of(tree, parity=parity), INSTALL, given)


@pytest.mark.parametrize("parity", [True, False])
@pytest.mark.parametrize(("supported", "given"), ACCEPTED)
def test_supported_targets(supported: list[str], given: list[str], parity: bool) -> None:  # noqa: FBT001  # a parameter
    assert targets(supported, given, parity=parity) == tuple(given)


@pytest.mark.parametrize(("supported", "given", "text"), REFUSED)
def test_unsupported_targets_in_upstreams_words(supported: list[str], given: list[str], text: str) -> None:
    with pytest.raises(ContentError) as refused:
        targets(supported, given, parity=True)
    assert str(refused.value) == f"invalid option(s): invalid target namespaces [{' '.join(given)}]: {text}"


@pytest.mark.parametrize(("supported", "text"), NOTHING_SUPPORTED_BY_DEFAULT)
@pytest.mark.parametrize("given", [None, []])
def test_no_targets(supported: list[str], text: str, given: list[str] | None) -> None:
    with pytest.raises(ContentError) as refused:
        targets(supported, given, parity=True)
    assert str(refused.value) == f"invalid option(s): invalid target namespaces []: {text}"


def test_people_are_told_what_would_be_possible() -> None:
    with pytest.raises(ContentError) as refused:
        targets([OWN, MULTI], ["other"], parity=False)
    assert str(refused.value) == (
        "invalid option(s): invalid target namespaces [other]: supported install modes [MultiNamespace OwnNamespace] "
        "do not support target namespaces [other]; "
        "the operator can watch its own (operators) or several namespaces: see manifests/csv.yaml"
    )
    with pytest.raises(ContentError, match="the CSV supports no install mode at all"):
        targets([], ["other"], parity=False)


def test_the_default_is_everything_or_else_the_own_namespace() -> None:
    assert targets([ALL, OWN], None, parity=False) == ("",)
    assert targets([OWN, SINGLE], None, parity=False) == (INSTALL,)
    with pytest.raises(ContentError, match="exactly one target namespace"):
        targets([OWN, SINGLE], None, parity=True)


def test_repeated_targets_are_one_for_people_and_stay_for_parity() -> None:
    assert targets([MULTI], ["b", "a", "b"], parity=False) == ("b", "a")
    assert targets([MULTI], ["b", "a", "b"], parity=True) == ("b", "a", "b")
    assert targets([SINGLE], ["b", "b"], parity=True) == ("b", "b")  # one element of a set


def test_a_target_is_the_name_of_a_namespace() -> None:
    with pytest.raises(ContentError, match="watch namespace 'A_b' is not a valid namespace name: a lowercase RFC 1123"):
        targets([SINGLE], ["A_b"], parity=False)


SUGGESTING = csv_document(annotations={"operatorframework.io/suggested-namespace": "suggested"})


def test_the_install_namespace_is_given_or_suggested_or_named_after_the_package() -> None:
    assert install_namespace(bundle_of(bundle(csv=SUGGESTING)), "given") == "given"
    assert install_namespace(bundle_of(bundle(csv=SUGGESTING))) == "suggested"
    assert install_namespace(bundle_of(bundle(package="argo"))) == "argo-system"
    assert install_namespace(bundle_of(bundle(package="argo")), "") == "argo-system"
